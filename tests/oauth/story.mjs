// The official TypeScript SDK finds the authorization server of loci serve by itself, gets
// a token from it, uses the tools, asks for more scopes when it hears that it lacks one, and
// goes on after the provider has rotated its keys. Prints a line for each check.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { consent, redirect, tokenFor } from "./provider.mjs";
import { startStage } from "./stage.mjs";

const [loci, work] = process.argv.slice(2);
let failed = false;

function check(name, good, seen) {
  failed ||= !good;
  console.log(good ? `ok ${name}` : `FAIL ${name}: ${JSON.stringify(seen)}`);
}

// A session is what the SDK keeps of one user's authorization.
class Session {
  constructor(client) { this.asked = []; this.client = client; this.renews = client !== undefined; }
  get redirectUrl() { return redirect; }
  get clientMetadata() {
    return { client_name: "test", redirect_uris: [redirect], token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], application_type: "native" };
  }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.held; }
  saveTokens(tokens) { this.held = tokens; }
  // The SDK registers and asks for the scopes of the challenge alone. So who wants a refresh
  // token uses a client that the provider knows, and adds the scope here.
  redirectToAuthorization(url) {
    if (this.renews) {
      url.searchParams.set("scope", `${url.searchParams.get("scope")} offline_access`);
      url.searchParams.set("prompt", "consent");
    }
    this.asked.push(url);
  }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
}

const { provider, url, stop } = await startStage(loci, work);

// use connects as a session and does something; who is not authorized logs in and agrees.
// It returns what came of it and how often the user was asked.
async function use(session, login, act) {
  for (let asked = 0; ; asked++) {
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: session });
    const client = new Client({ name: "oauth", version: "1" });
    try {
      await client.connect(transport);
      return { asked, result: await act(client) };
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || asked === 3) throw error;
      await transport.finishAuth((await consent(session.asked.at(-1), login)).code);
    } finally {
      await client.close();
    }
  }
}

const names = async (client) => (await client.listTools()).tools.map((tool) => tool.name);
const call = (name, given) => async (client) => (await client.callTool({ name, arguments: given })).content[0].text;

try {
  // Nothing is known but the address.
  const alice = new Session();
  let seen = await use(alice, "alice", names);
  check("the tools come after one authorization", seen.asked === 1 && seen.result.includes("memory_save"), seen);
  const wanted = alice.asked[0].searchParams;
  check("it asks for the resource and the scopes of the challenge",
    wanted.get("resource") === `${url}/mcp` && wanted.get("scope") === "read write delete", [...wanted]);
  const [first] = provider.granted();
  check("it sends the resource and the verifier for its token",
    first.resource === `${url}/mcp` && first.verifier, first);
  seen = await use(alice, "alice", call("memory_save", { content: "Likes oranges." }));
  check("a note is stored with the same token", seen.asked === 0 && /note-/.test(seen.result), seen);

  const bob = new Session();
  seen = await use(bob, "bob", call("memory_search", { query: "oranges" }));
  check("another user finds nothing of it", seen.asked === 1 && !/Likes oranges/.test(seen.result), seen);

  // A token with fewer scopes: what it lacks is asked for when it is needed.
  provider.offer("read");
  const carol = new Session();
  seen = await use(carol, "carol", names);
  check("a reader sees what reads", seen.result.includes("memory_search") && !seen.result.includes("memory_save"), seen);
  provider.offer("read write delete");
  seen = await use(carol, "carol", call("memory_save", { content: "Likes tea." }));
  check("a scope that is missing is asked for once", seen.asked === 1 && /note-/.test(seen.result), seen);
  check("it asked for that scope", carol.asked.at(-1).searchParams.get("scope").split(" ").includes("write"),
    carol.asked.at(-1)?.search);

  // A token that nobody vouches for, and one in the address.
  const forged = alice.held.access_token.split(".");
  const strange = await fetch(`${url}/mcp`, { method: "POST", headers: { authorization: `Bearer ${forged[0]}.${forged[1]}.AAAA` } });
  check("a changed token is a 401 with a place to go",
    strange.status === 401 && /resource_metadata="[^"]*\/mcp"/.test(strange.headers.get("www-authenticate")), strange.status);
  const shown = await fetch(`${url}/mcp?access_token=${alice.held.access_token}`, { method: "POST" });
  check("a token in the address is refused", shown.status === 400, shown.status);

  // A good token of the same provider for another server.
  const erin = new Session();
  await use(erin, "erin", names);
  erin.held = { access_token: await tokenFor(provider.issuer, `${url}/elsewhere`, "erin"), token_type: "bearer" };
  seen = await use(erin, "erin", names);
  check("a token for another audience leads to a new one", seen.asked === 1 && seen.result.includes("memory_save"), seen);

  // A token expires while its owner works.
  provider.live(2);
  const frank = new Session({ client_id: "known" });
  seen = await use(frank, "frank", async (client) => {
    provider.granted();
    const before = frank.held;
    await new Promise((later) => setTimeout(later, 3500));
    const text = await call("memory_save", { content: "Likes plums." })(client);
    return { text, renewed: provider.granted(), other: before.refresh_token !== frank.held.refresh_token };
  });
  check("a token that has expired is renewed without the user", seen.asked === 1 && /note-/.test(seen.result.text)
    && seen.result.renewed.length === 1 && seen.result.renewed[0].grant === "refresh_token"
    && seen.result.renewed[0].resource === `${url}/mcp` && seen.result.other, seen);
  provider.live(600);

  // The provider rotates its keys. Keys that nobody knows are fetched every 30 seconds.
  await provider.rotate();
  seen = await use(alice, "alice", call("memory_search", { query: "oranges" }));
  check("a token of the key before is good", seen.asked === 0 && /Likes oranges/.test(seen.result), seen);
  const dave = new Session();
  const begun = Date.now();
  for (;;) {
    try {
      seen = await use(dave, "dave", names);
      break;
    } catch (error) {
      if (Date.now() - begun > 90_000) throw error;
      dave.held = undefined;
      await new Promise((later) => setTimeout(later, 1000));
    }
  }
  check("a token of the new key is good within half a minute", seen.result.includes("memory_save"), seen);

  provider.granted();
  seen = await use(frank, "frank", call("memory_search", { query: "plums" }));
  check("a token of the key that is gone is renewed", seen.asked === 0 && /Likes plums/.test(seen.result)
    && provider.granted()[0]?.grant === "refresh_token", seen);

  // It goes down.
  provider.stop();
  seen = await use(dave, "dave", call("memory_save", { content: "Likes milk." }));
  check("tokens stay good while the provider is down", seen.asked === 0 && /note-/.test(seen.result), seen);
} catch (error) {
  check("no error", false, String(error.stack ?? error));
} finally {
  stop();
}
process.exit(failed ? 1 : 0);
