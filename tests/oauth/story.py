"""The official Python SDK gets tokens for loci serve from a real provider, renews them and
asks for more scopes. Started by stage.mjs; prints a line for each check."""

import asyncio
import json
import os
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

URL = os.environ["LOCI_URL"]
REDIRECT = "http://127.0.0.1:1/callback"
failed = False


def check(name, good, seen):
    global failed
    failed = failed or not good
    print(f"ok {name}" if good else f"FAIL {name}: {seen!r}", flush=True)


async def stage(act, *given):
    def ask():
        request = urllib.request.Request(f"{os.environ['STAGE_URL']}/{act}", json.dumps(given).encode())
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return json.load(response)
        except urllib.error.HTTPError as refused:
            raise RuntimeError(refused.read().decode()) from None

    return await asyncio.to_thread(ask)


class Hiding(httpx2.AsyncHTTPTransport):
    """Takes the address of the description from a challenge, and answers 404 at some paths."""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden

    async def handle_async_request(self, request):
        if request.url.path in self.hidden:
            return httpx2.Response(404, request=request)
        response = await super().handle_async_request(request)
        if response.status_code == 401:
            response.headers["www-authenticate"] = "Bearer"
        return response


class Person:
    """What the SDK keeps of one user, and the browser of that user."""

    def __init__(self, login, client=None, hidden=None):
        self.login, self.client, self.held, self.asked = login, client, None, []
        self.transport = Hiding(hidden) if hidden is not None else None
        self.start()

    def start(self):
        metadata = OAuthClientMetadata(redirect_uris=[REDIRECT], client_name="test", token_endpoint_auth_method="none",
                                       grant_types=["authorization_code", "refresh_token"], response_types=["code"])
        self.auth = OAuthClientProvider(f"{URL}/mcp", metadata, self, self.show, self.come_back)

    async def get_tokens(self):
        return self.held

    async def set_tokens(self, tokens):
        self.held = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info

    async def show(self, address):
        self.asked.append(address)

    async def come_back(self):
        back = await stage("consent", self.asked[-1], self.login)
        return AuthorizationCodeResult(code=back["code"], state=back.get("state"), iss=back.get("iss"))

    def wanted(self):
        return {name: values[0] for name, values in parse_qs(urlparse(self.asked[-1]).query).items()}

    async def use(self, act):
        """Connects, acts, and says what came of it and how often the user was asked."""
        before = len(self.asked)
        async with httpx2.AsyncClient(auth=self.auth, transport=self.transport, timeout=20) as http:
            async with Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as client:
                return await act(client), len(self.asked) - before


async def names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


def call(name, **given):
    async def act(client):
        return (await client.call_tool(name, given)).content[0].text
    return act


async def main():
    alice = Person("alice")
    seen, asked = await alice.use(names)
    check("the tools come after one authorization", asked == 1 and "memory_save" in seen, (seen, asked))
    wanted = alice.wanted()
    check("it asks for the resource with PKCE and a refresh token",
          wanted["resource"] == f"{URL}/mcp" and wanted["code_challenge_method"] == "S256"
          and wanted["scope"] == "read write delete offline_access", wanted)
    first = (await stage("granted"))[0]
    check("it sends the resource and the verifier for its token",
          first["resource"] == f"{URL}/mcp" and first["verifier"], first)
    seen, asked = await alice.use(call("memory_save", content="Likes oranges."))
    check("a note is stored with the same token", asked == 0 and "note-" in seen, (seen, asked))
    seen, asked = await alice.use(call("memory_search", query="oranges"))
    check("it is found", asked == 0 and "Likes oranges" in seen, (seen, asked))

    bare = Person("bob", hidden=[])
    seen, asked = await bare.use(call("memory_search", query="oranges"))
    check("without an address in the challenge, the one with the path is found and nothing of others",
          asked == 1 and bare.wanted()["resource"] == f"{URL}/mcp" and "Likes oranges" not in seen, (seen, asked))
    bare = Person("bob", hidden=["/.well-known/oauth-protected-resource/mcp"])
    seen, asked = await bare.use(names)
    check("and else the one without a path", asked == 1 and bare.wanted()["resource"].rstrip("/") == URL
          and "memory_save" in seen, (seen, bare.wanted()))

    await stage("offer", "read")
    known = OAuthClientInformationFull(client_id="known", redirect_uris=[REDIRECT], token_endpoint_auth_method="none")
    carol = Person("carol", client=known)
    seen, asked = await carol.use(names)
    check("a reader, by a client that the provider knew, sees what reads", asked == 1 and "memory_search" in seen
          and "memory_save" not in seen and carol.wanted()["client_id"] == "known", (seen, asked))
    await stage("offer", "read write delete")
    seen, asked = await carol.use(call("memory_save", content="Likes tea."))
    check("a scope that is missing is asked for once", asked == 1 and "note-" in seen
          and {"read", "write"} <= set(carol.wanted()["scope"].split()), (seen, asked, carol.wanted()))

    erin = Person("erin")
    await erin.use(names)
    erin.held = OAuthToken(access_token=await stage("token", f"{URL}/elsewhere", "erin"), token_type="Bearer")
    erin.start()
    seen, asked = await erin.use(names)
    check("a token for another audience leads to a new one", asked == 1 and "memory_save" in seen, (seen, asked))

    await stage("live", 2)
    frank = Person("frank")

    async def outlive(client):
        before = frank.held.refresh_token
        await stage("granted")
        await asyncio.sleep(3.5)
        text = await call("memory_save", content="Likes plums.")(client)
        return text, await stage("granted"), before != frank.held.refresh_token

    (text, renewed, other), asked = await frank.use(outlive)
    check("a token that has expired is renewed without the user", asked == 1 and "note-" in text and other
          and renewed == [{"grant": "refresh_token", "resource": f"{URL}/mcp", "verifier": False}],
          (text, renewed, other))
    await stage("live", 600)

    await stage("rotate")
    seen, asked = await alice.use(call("memory_search", query="oranges"))
    check("a token of the key before is good", asked == 0 and "Likes oranges" in seen, (seen, asked))
    begun = time.monotonic()
    while True:
        dave = Person("dave")
        try:
            seen, asked = await dave.use(names)
            break
        except Exception:
            if time.monotonic() - begun > 90:
                raise
            await asyncio.sleep(1)
    check("a token of the new key is good within half a minute", "memory_save" in seen, seen)
    seen, asked = await alice.use(call("memory_search", query="oranges"))
    check("a token of the key that is gone leads to a new one", asked == 1 and "Likes oranges" in seen, (seen, asked))
    await stage("stop")
    seen, asked = await dave.use(call("memory_save", content="Likes milk."))
    check("tokens stay good while the provider is down", asked == 0 and "note-" in seen, (seen, asked))


try:
    asyncio.run(main())
except Exception as error:
    check("no error", False, error)
    raise
sys.exit(failed)
