// A real OpenID Connect provider (npm oidc-provider) and a browser that says yes to it.

import { createServer } from "node:http";
import { generateKeyPair, exportJWK } from "jose";
import Provider from "oidc-provider";

// makeKey is a private key for signatures.
async function makeKey(kid) {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: "ES256", use: "sig" };
}

// A provider whose access tokens are JWTs for the resource a client names, with the claim
// tenant. Its keys can be rotated, and what a resource may be asked for can change.
export async function startProvider() {
  const server = createServer((request, response) => current(request, response));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  let current;
  let keys = [];
  let scope = "read write delete";

  const rebuild = () => {
    const provider = new Provider(issuer, {
      jwks: { keys },
      scopes: ["openid", "offline_access", "read", "write", "delete"],
      clientDefaults: { id_token_signed_response_alg: "ES256" },
      cookies: { keys: ["a secret of a test"] },
      features: {
        devInteractions: { enabled: true },
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (_, resource) => ({
            scope, audience: resource, accessTokenFormat: "jwt", accessTokenTTL: 600, jwt: { sign: { alg: "ES256" } },
          }),
        },
      },
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600 },
      extraTokenClaims: () => ({ tenant: "acme" }),
    });
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
    stop: () => { server.closeAllConnections(); server.close(); },
  };
}

// consent follows an authorization request as a browser of somebody who logs in and agrees,
// and returns the code.
export async function consent(address, login, redirect) {
  const jar = new Map();
  let url = new URL(address);
  let form;
  for (let step = 0; step < 20; step++) {
    if (url.href.startsWith(redirect)) {
      const code = url.searchParams.get("code");
      if (!code) throw new Error(`no code: ${url.search}`);
      return code;
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
