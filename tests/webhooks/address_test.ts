import assert from "node:assert/strict";
import { isPublic, resolveHost } from "../../core/posting/addresses.ts";
import { checkEndpointUrl, type EndpointRules } from "../../core/posting/endpoint_url.ts";
import { fc } from "../support/fast_check.ts";

/** The first and last address of each special network, and their public neighbours. */
const NETWORKS = [
  { first: "0.0.0.0", last: "0.255.255.255", after: "1.0.0.0" },
  { before: "9.255.255.255", first: "10.0.0.0", last: "10.255.255.255", after: "11.0.0.0" },
  { before: "100.63.255.255", first: "100.64.0.0", last: "100.127.255.255", after: "100.128.0.0" },
  { before: "126.255.255.255", first: "127.0.0.0", last: "127.255.255.255", after: "128.0.0.0" },
  {
    before: "168.63.129.15",
    first: "168.63.129.16",
    last: "168.63.129.16",
    after: "168.63.129.17",
  },
  {
    before: "169.253.255.255",
    first: "169.254.0.0",
    last: "169.254.255.255",
    after: "169.255.0.0",
  },
  { before: "172.15.255.255", first: "172.16.0.0", last: "172.31.255.255", after: "172.32.0.0" },
  { before: "191.255.255.255", first: "192.0.0.0", last: "192.0.0.255", after: "192.0.1.0" },
  { before: "192.0.1.255", first: "192.0.2.0", last: "192.0.2.255", after: "192.0.3.0" },
  { before: "192.88.98.255", first: "192.88.99.0", last: "192.88.99.255", after: "192.88.100.0" },
  {
    before: "192.167.255.255",
    first: "192.168.0.0",
    last: "192.168.255.255",
    after: "192.169.0.0",
  },
  { before: "198.17.255.255", first: "198.18.0.0", last: "198.19.255.255", after: "198.20.0.0" },
  { before: "198.51.99.255", first: "198.51.100.0", last: "198.51.100.255", after: "198.51.101.0" },
  { before: "203.0.112.255", first: "203.0.113.0", last: "203.0.113.255", after: "203.0.114.0" },
  { before: "223.255.255.255", first: "224.0.0.0", last: "255.255.255.255" },
  { first: "::", last: "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", after: "2000::" },
  { before: "2000:ffff::1", first: "2001::", last: "2001:1ff:ffff::1", after: "2001:200::" },
  {
    before: "2001:db7:ffff::1",
    first: "2001:db8::",
    last: "2001:db8:ffff::1",
    after: "2001:db9::",
  },
  { before: "2001:ffff::1", first: "2002::", last: "2002:ffff:ffff::1", after: "2003::" },
  { before: "3ffe:ffff::1", first: "3fff::", last: "3fff:fff:ffff::1", after: "3fff:1000::" },
  {
    before: "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    first: "4000::",
    last: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
  },
];

Deno.test("public address: the first and last address of a special network are not public, their neighbours are", () => {
  for (const { before, first, last, after } of NETWORKS) {
    for (const address of [first, last]) assert.equal(isPublic(address), false, address);
    for (const address of [before, after]) {
      if (address) assert.equal(isPublic(address), true, address);
    }
  }
});

Deno.test("public address: well-known internal addresses are not public", () => {
  const addresses = [
    ...["127.0.0.1", "169.254.169.254", "100.100.100.200", "192.0.0.192", "255.255.255.255"],
    ...["::", "::1", "fe80::1", "fec0::1", "fd00::1", "fd00:ec2::254", "ff02::1", "100::1"],
    ...["64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "::127.0.0.1", "::8.8.8.8"],
    ...["2001::7f00:1", "2002:7f00:1::1", "5f00::1"],
  ];
  for (const address of addresses) assert.equal(isPublic(address), false, address);
  for (const address of ["8.8.8.8", "2606:4700:4700::1111", "2A00:1450:4001:81B::200E"]) {
    assert.equal(isPublic(address), true, address);
  }
});

Deno.test("public address: a mapped IPv4 address is treated as IPv4 in every notation", async () => {
  const octet = fc.integer({ min: 0, max: 255 });
  await fc.assert(
    fc.asyncProperty(octet, octet, octet, octet, (...octets) => {
      const plain = octets.join(".");
      const [a, b] = [octets[0]! * 256 + octets[1]!, octets[2]! * 256 + octets[3]!];
      const hex = `${a.toString(16)}:${b.toString(16)}`;
      const full = `${a.toString(16).padStart(4, "0")}:${b.toString(16).padStart(4, "0")}`;
      for (
        const notation of [
          `::ffff:${plain}`,
          `::FFFF:${hex}`,
          `0:0:0:0:0:ffff:${plain}`,
          `0000:0000:0000:0000:0000:ffff:${full}`,
          `::0:ffff:${hex}`,
        ]
      ) assert.equal(isPublic(notation), isPublic(plain), notation);
      return Promise.resolve();
    }),
    { numRuns: 500 },
  );
  for (const notation of ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:a9fe:a9fe"]) {
    assert.equal(isPublic(notation), false, notation);
  }
  assert.equal(isPublic("::ffff:808:808"), true);
});

Deno.test("public address: invalid addresses and addresses with a zone are not public", async () => {
  const invalidAddresses = [
    ...[
      "",
      " ",
      "example.com",
      "localhost",
      "8.8.8",
      "8.8.8.8.",
      " 8.8.8.8",
      "08.8.8.8",
      "8.8.8.8/32",
    ],
    ...[
      "134744072",
      "0x8.8.8.8",
      "[2606::1]",
      "2606::1%eth0",
      "2606::1%25eth0",
      "fe80::1%1",
      "2606::1::",
    ],
  ];
  for (const text of invalidAddresses) assert.equal(isPublic(text), false, text);
  const property = fc.asyncProperty(fc.string(), (text) => {
    assert.equal(isPublic(text), false);
    return Promise.resolve();
  });
  await fc.assert(property, { numRuns: 100 });
});

const NOT_PUBLIC = "must be a public address";
const RESOLVES_TO_PRIVATE = "must resolve to public addresses only";

function resolvesTo(...addresses: string[]): EndpointRules {
  return { allowPrivate: false, resolve: () => Promise.resolve(addresses) };
}

const PUBLIC = resolvesTo("8.8.8.8", "2606:4700:4700::1111");
const ALLOW_PRIVATE = {
  allowPrivate: true,
  resolve: () => Promise.reject(new Error("must not be called")),
};

async function problemOf(text: string, rules: EndpointRules = PUBLIC): Promise<string | null> {
  const checked = await checkEndpointUrl(text, rules);
  return "problem" in checked ? checked.problem : null;
}

Deno.test("endpoint URL: is stored in normalized form", async () => {
  const cases = [
    ["https://example.com", "https://example.com/"],
    ["https://EXAMPLE.com:443/a b?c=d&e", "https://example.com/a%20b?c=d&e"],
    ["https://bücher.example:8443/ü", "https://xn--bcher-kva.example:8443/%C3%BC"],
    ["https://8.8.8.8/", "https://8.8.8.8/"],
    ["https://[2606:4700:4700:0::1111]/", "https://[2606:4700:4700::1111]/"],
    ["https://[::ffff:8.8.8.8]/", "https://[::ffff:808:808]/"],
    ["https://notlocalhost/", "https://notlocalhost/"],
    ["https://localhost.example.com/", "https://localhost.example.com/"],
  ] as const;
  for (const [text, url] of cases) {
    assert.deepEqual(await checkEndpointUrl(text, PUBLIC), { url }, text);
  }
});

Deno.test("endpoint URL: rejects invalid URLs and schemes other than https, and says why", async () => {
  const notUrl = "must be a URL, such as https://example.com/webhooks";
  const tooLong = "must be at most 2,000 characters long";
  const refused: [text: string, problem: string][] = [
    ["", notUrl],
    ["example.com/webhooks", notUrl],
    ["//example.com", notUrl],
    ["https://", notUrl],
    ["https://exa mple.com/", notUrl],
    ["https://example.com:65536/", notUrl],
    ["https://1.2.3.256/", notUrl],
    ["https://[fe80::1%25eth0]/", notUrl],
    ["http://example.com/", "must begin with https://"],
    ["ftp://example.com/", "must begin with https://"],
    ["file:///etc/passwd", "must begin with https://"],
    ["gopher://example.com/", "must begin with https://"],
    ["javascript:alert(1)", "must begin with https://"],
    ["data:text/plain,x", "must begin with https://"],
    ["https://user@example.com/", "must not contain a user name or password"],
    ["https://:secret@example.com/", "must not contain a user name or password"],
    ["https://8.8.8.8@127.0.0.1/", "must not contain a user name or password"],
    ["https://example.com/#here", "must not contain a fragment (#…)"],
    ["https://example.com/#", "must not contain a fragment (#…)"],
    ["https://example.com:0/", "must not have the port 0"],
    [`https://example.com/${"a".repeat(1_981)}`, tooLong],
  ];
  for (const [text, problem] of refused) assert.equal(await problemOf(text), problem, text);
  assert.equal(await problemOf(`https://example.com/${"a".repeat(1_980)}`), null);
  // The limit applies to the given URL; the stored one has six characters for each ü (%C3%BC).
  assert.equal(await problemOf(`https://example.com/${"ü".repeat(1_980)}`), null);
});

Deno.test("endpoint URL: rejects an address that is not public, in every notation", async () => {
  const hosts = [
    ...["127.0.0.1", "2130706433", "0x7f000001", "0X7F.1", "0177.0.0.1", "017700000001", "127.1"],
    ...["127.0.1", "127.0.0.1.", "１２７.0.0.1", "127。0。0。1", "%31%32%37.0.0.1", "0", "0.0.0.0"],
    ...[
      "[::1]",
      "[::]",
      "[0:0:0:0:0:0:0:1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[::127.0.0.1]",
    ],
    ...["[fe80::1]", "[fd00::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"],
    ...["169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:a9fe:a9fe]"],
    ...["10.0.0.1", "192.168.1", "172.16.1.1", "100.100.100.200", "168.63.129.16"],
  ];
  for (const host of hosts) assert.equal(await problemOf(`https://${host}/`), NOT_PUBLIC, host);
});

Deno.test("endpoint URL: rejects localhost by name", async () => {
  for (const host of ["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost."]) {
    assert.equal(await problemOf(`https://${host}:8443/`), "must not be localhost", host);
  }
});

Deno.test("endpoint URL: rejects a host if one of its addresses is not public", async () => {
  const metadata = resolvesTo("169.254.169.254");
  assert.equal(await problemOf("https://metadata.google.internal/", metadata), RESOLVES_TO_PRIVATE);
  for (
    const bad of ["127.0.0.1", "10.1.2.3", "::1", "::ffff:10.1.2.3", "fd00::1", "fe80::1%eth0"]
  ) {
    for (const addresses of [[bad], ["8.8.8.8", bad], [bad, "8.8.8.8"]]) {
      const problem = await problemOf("https://example.com/", resolvesTo(...addresses));
      assert.equal(problem, RESOLVES_TO_PRIVATE, addresses.join());
    }
  }
});

Deno.test("endpoint URL: resolves the normalized host name once", async () => {
  const resolvedHosts: string[] = [];
  const resolve = (hostname: string) => {
    resolvedHosts.push(hostname);
    return Promise.resolve(["8.8.8.8"]);
  };
  await checkEndpointUrl("https://EXAMPLE.com:8443/a", { allowPrivate: false, resolve });
  assert.deepEqual(resolvedHosts, ["example.com"]);
});

Deno.test("endpoint URL: accepts a host that does not resolve yet", async () => {
  const resolve = () => Promise.reject(new Error("ENOTFOUND"));
  assert.equal(await problemOf("https://example.com/", { allowPrivate: false, resolve }), null);
});

Deno.test("endpoint URL: accepts http, but no other scheme, if private addresses are allowed", async () => {
  for (const url of ["http://localhost:3000/a", "http://127.0.0.1/", "https://[::1]:8443/"]) {
    assert.deepEqual(await checkEndpointUrl(url, ALLOW_PRIVATE), { url });
  }
  assert.equal(
    await problemOf("ftp://localhost/", ALLOW_PRIVATE),
    "must begin with https:// or http://",
  );
  assert.match(await problemOf("http://a:b@localhost/", ALLOW_PRIVATE) ?? "", /password/);
});

Deno.test("endpoint URL: a DNS server that does not respond does not block the request", async () => {
  const resolve = () => new Promise<string[]>(() => {});
  assert.equal(await problemOf("https://example.com/", { allowPrivate: false, resolve }), null);
});

Deno.test("resolveHost: uses the system's resolver", async () => {
  const addresses = await resolveHost("localhost");
  assert.ok(addresses.length > 0);
  for (const address of addresses) assert.match(address, /^(127\.0\.0\.1|::1)$/);
});
