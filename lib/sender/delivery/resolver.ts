import { type LookupAddress, promises as dns } from 'node:dns';

const QUERY_TIMEOUT_MS = 2000;
const TRIES = 2;
/** c-ares doubles its timeout with each try and adds up over name servers; this bounds the whole. */
const TOTAL_TIMEOUT_MS = 5000;
/** How long the second address family may take after the first one has answered (RFC 8305, §3, asks for 50 ms). */
const SECOND_FAMILY_MS = 100;
const RENEW_AFTER_FAILURES = 3;

/** The addresses of a name, IPv4 first; rejects with an error whose `code` is one of `node:dns`. */
export type ResolveName = (hostname: string, how: { system: boolean }) => Promise<readonly LookupAddress[]>;

export interface ResolverOptions {
  /** Addresses of name servers, with a port where it is not 53. @default those of the operating system */
  servers?: readonly string[] | undefined;
  /** For both queries with all their tries. @default 5000 */
  timeoutMs?: number | undefined;
}

/**
 * Resolves with c-ares. `dns.lookup` waits in a thread of libuv's small pool, 10 s for a name whose servers are dead:
 * three such endpoints stop every other delivery. It is used only where `system` asks for the hosts file.
 * Connections that are opened to one name at the same time share one pair of queries; nothing is kept beyond that.
 */
export function createResolver({ servers, timeoutMs = TOTAL_TIMEOUT_MS }: ResolverOptions = {}): ResolveName {
  let resolver = newResolver(servers);
  let failures = 0;
  const underWay = new Map<string, Promise<readonly LookupAddress[]>>();

  async function resolve(hostname: string): Promise<readonly LookupAddress[]> {
    try {
      const addresses = await bothFamilies(resolver, hostname, timeoutMs);
      failures = 0;
      return addresses;
    } catch (error) {
      const unanswered = ['ETIMEOUT', 'ECONNREFUSED'].includes((error as NodeJS.ErrnoException).code ?? '');
      failures = unanswered ? failures + 1 : 0;
      // c-ares reads resolv.conf once; a machine that changed networks would ask its old name servers for ever.
      if (failures >= RENEW_AFTER_FAILURES) {
        resolver = newResolver(servers);
        failures = 0;
      }
      throw error;
    }
  }

  return (hostname, { system }) => {
    if (system) return dns.lookup(hostname, { all: true });
    const known = underWay.get(hostname);
    if (known) return known;
    const query = resolve(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, query);
    return query;
  };
}

function newResolver(servers: readonly string[] | undefined): dns.Resolver {
  const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  return resolver;
}

function bothFamilies(resolver: dns.Resolver, hostname: string, timeoutMs: number): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    const found: LookupAddress[] = [];
    const unanswered = Object.assign(new Error('no answer'), { code: 'ETIMEOUT' });
    let failure: NodeJS.ErrnoException = unanswered;
    let open = 2;
    let timer = setTimeout(finish, timeoutMs);

    function finish(): void {
      clearTimeout(timer);
      // Most hosts have no route for IPv6, so its addresses are for when IPv4 fails.
      if (found.length > 0) resolve(found.toSorted((a, b) => a.family - b.family));
      else reject(failure);
    }
    function ask(family: 4 | 6, answer: Promise<string[]>): void {
      answer.then(
        (addresses) => {
          found.push(...addresses.map((address) => ({ address, family })));
          open -= 1;
          clearTimeout(timer);
          if (open === 0) finish();
          else timer = setTimeout(finish, SECOND_FAMILY_MS);
        },
        (error: NodeJS.ErrnoException) => {
          open -= 1;
          // "No address of this family" counts only when neither family has one.
          if (error.code !== 'ENODATA' || (open === 0 && failure === unanswered)) failure = error;
          if (open === 0) finish();
        },
      );
    }
    ask(4, resolver.resolve4(hostname));
    ask(6, resolver.resolve6(hostname));
  });
}
