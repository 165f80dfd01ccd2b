// A real OpenID Connect provider (npm oidc-provider) and a browser that says yes to it.

import { createServer } from "node:http";
import { generateKeyPair, exportJWK } from "jose";
import Provider from "oidc-provider";
import MemoryAdapter from "oidc-provider/lib/adapters/memory_adapter.js";

// What a provider knows outlives a rotation of its keys, for which a new one is made.
class Kept extends MemoryAdapter {}

// makeKey is a private key for signatures.
async function makeKey(kid) {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: "ES256", use: "sig" };
}

// Where somebody is sent who has signed in: nothing listens there.
export const redirect = "http://127.0.0.1:1/callback";

// A provider whose access tokens are JWTs for the resource a client names, with the claim
// tenant. Its keys can be rotated; what a resource may be asked for can change, and how long
// a token is good. It gives refresh tokens for offline_access, each good for one use, and
// knows the client "known" without a registration.
export async function startProvider() {
  const server = createServer((request, response) => current(request, response));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  let current;
  let keys = [];
  let scope = "read write delete";
  let lifetime = 600;
  const granted = [];

  const rebuild = () => {
    const provider = new Provider(issuer, {
      adapter: Kept,
      jwks: { keys },
      scopes: ["openid", "offline_access", "read", "write", "delete"],
      clients: [{ client_id: "known", redirect_uris: [redirect], token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"], application_type: "native" }],
      clientDefaults: { id_token_signed_response_alg: "ES256" },
      cookies: { keys: ["a secret of a test"] },
      features: {
        devInteractions: { enabled: true },
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (_, resource) => ({
            scope, audience: resource, accessTokenFormat: "jwt", accessTokenTTL: lifetime,
            jwt: { sign: { alg: "ES256" } },
          }),
        },
      },
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: () => lifetime, RefreshToken: 600 },
      extraTokenClaims: () => ({ tenant: "acme" }),
    });
    provider.on("grant.success", ({ oidc: { params } }) => granted.push(
      { grant: params.grant_type, resource: params.resource ?? null, verifier: Boolean(params.code_verifier) }));
    provider.on("server_error", (_, error) => console.error(error));
    current = provider.callback();
  };
  let number = 0;
  const rotate = async () => {
    keys = [await makeKey(`key-${++number}`)];
    rebuild();
  };
  await rotate();
  return {
    issuer,
    rotate,
    offer: (scopes) => { scope = scopes; },
    live: (seconds) => { lifetime = seconds; },
    // The requests for tokens that were granted since it was last asked.
    granted: () => granted.splice(0),
    stop: () => { server.closeAllConnections(); server.close(); },
  };
}

// consent follows an authorization request as a browser of somebody who logs in and agrees,
// and returns what the provider sends back: the code, the state and its name.
export async function consent(address, login) {
  const jar = new Map();
  let url = new URL(address);
  let form;
  for (let step = 0; step < 20; step++) {
    if (url.href.startsWith(redirect)) {
      if (!url.searchParams.get("code")) throw new Error(`no code: ${url.search}`);
      return Object.fromEntries(url.searchParams);
    }
    const headers = { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") };
    const response = await fetch(url, form
      ? { method: "POST", body: new URLSearchParams(form), headers, redirect: "manual" }
      : { headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
      if (value) jar.set(name, value); else jar.delete(name);
    }
    form = undefined;
    if (response.status >= 300 && response.status < 400) {
      url = new URL(response.headers.get("location"), url);
      continue;
    }
    const page = await response.text();
    const action = page.match(/<form[^>]*action="([^"]+)"/);
    const prompt = page.match(/name="prompt" value="([^"]+)"/);
    if (!action || !prompt) throw new Error(`${response.status} at ${url}: ${page.slice(0, 500)}`);
    url = new URL(action[1], url);
    form = prompt[1] === "login" ? { prompt: "login", login, password: "any" } : { prompt: prompt[1] };
  }
  throw new Error("the provider asks without an end");
}

// tokenFor is an access token of the provider for a resource that a client never asks for by
// itself.
export async function tokenFor(issuer, resource, login) {
  const verifier = "v".repeat(43);
  const challenge = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  const client = { client_id: "known", redirect_uri: redirect, resource };
  const { code } = await consent(`${issuer}/auth?${new URLSearchParams({ ...client, response_type: "code",
    scope: "read write", code_challenge: challenge.toString("base64url"), code_challenge_method: "S256" })}`, login);
  const response = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams({ ...client,
    grant_type: "authorization_code", code, code_verifier: verifier }) });
  return (await response.json()).access_token;
}
