import { isIP } from 'node:net';
import { parseUrl } from '../../model/url.js';
import { classifyAddress } from './address-class.js';
import { readAllowList } from './allow-list.js';

const MAX_URL_LENGTH = 2048;

/** The ports that browsers refuse (Fetch standard, "port blocking"): other protocols would read HTTP as commands. */
const BAD_PORTS = new Set(
  [
    '0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119',
    '123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989',
    '990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080',
  ].flatMap((line) => line.split(' ')),
);

export interface TargetGuardOptions {
  /** Whether `http:` URLs are targets at all; addresses are judged the same. */
  allowHttp: boolean;
  /** Addresses, networks (CIDR), host names and `*.example.internal` patterns that are reachable though not public. */
  allowTargets: readonly string[];
}

/** Says where deliveries may go: the same verdict when an endpoint is written, tested and delivered to. */
export interface TargetGuard {
  /**
   * Judges what the URL says by itself. Answers the URL in its canonical spelling, the one to store, or the problem
   * as a sentence without its subject.
   */
  checkUrl(url: string): { url: string } | { problem: string };
  /**
   * Judges an address that a connection is about to be made to, or has been made to.
   * @param hostname the name that resolved to it, or the address itself where the URL holds one
   */
  mayConnect(address: string, hostname: string): boolean;
  /**
   * Whether a name is resolved as the operating system does it (hosts file, search domains) and not by the name
   * servers alone: the names that the operator listed, and `localhost`.
   */
  usesSystemResolver(hostname: string): boolean;
}

/** @throws `INVALID_OPTIONS` for a malformed entry of `allowTargets`, which it names */
export function createTargetGuard({ allowHttp, allowTargets }: TargetGuardOptions): TargetGuard {
  const allowed = readAllowList(allowTargets);

  function mayConnect(address: string, hostname: string): boolean {
    const known = classifyAddress(address);
    if (known === null || known.class === 'unspecified') return false;
    if (known.translated) return known.class === 'public';
    // A network as wide as 0.0.0.0/0 is written to reach a data centre, not the cloud's credentials in it.
    if (known.class === 'metadata') return allowed.namesAddress(known.ip, true);
    if (known.class === 'public' || allowed.namesAddress(known.ip)) return true;
    return known.class === 'private' && allowed.namesHost(hostname);
  }

  function checkHost(hostname: string): string | null {
    const literal = hostname.replace(/^\[|\]$/g, '');
    if (isIP(literal) !== 0) {
      return mayConnect(literal, literal)
        ? null
        : `must not point to ${literal}, which is neither a public address nor one of this sender's allowTargets`;
    }
    if (hostname === '' || hostname.startsWith('.') || hostname.endsWith('.') || hostname.includes('..')) {
      return 'must have a host name without empty labels';
    }
    const usable =
      !isLocalhost(hostname) ||
      allowed.namesHost(hostname) ||
      mayConnect('127.0.0.1', hostname) ||
      mayConnect('::1', hostname);
    return usable ? null : `must not point to ${hostname}, which is not one of this sender's allowTargets`;
  }

  return {
    checkUrl(text) {
      const parsed = readTarget(text);
      if (typeof parsed === 'string') return { problem: parsed };
      if (parsed.protocol === 'http:' && !allowHttp) {
        return {
          problem: 'must use https: plain http is only sent when the sender is created with allowHttp',
        };
      }
      if (BAD_PORTS.has(parsed.port))
        return { problem: `must not use port ${parsed.port}, which is reserved` };
      const problem = checkHost(parsed.hostname);
      return problem === null ? { url: parsed.href } : { problem };
    },
    mayConnect,
    usesSystemResolver: (hostname) => isLocalhost(hostname) || allowed.namesHost(hostname),
  };
}

/**
 * The URL, or what is wrong with its spelling. The WHATWG parser forgives what would let a reader and the machine see
 * different targets: it drops tabs and line breaks, reads a backslash as a slash, and invents missing slashes.
 */
function readTarget(text: string): URL | string {
  if (text.length > MAX_URL_LENGTH) return `must be at most ${MAX_URL_LENGTH} characters`;
  if (/[\p{Cc}\s\\]/u.test(text)) return 'must not hold white space, control characters or backslashes';
  if (!/^https?:\/\/[^/?#]/i.test(text)) return 'must be an absolute URL that starts with https://';
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return 'must not hold a user name or password: use headers';
  if (text.includes('#')) return 'must not have a fragment (#): it is never sent';
  const url = parseUrl(text);
  if (url === null) return 'must be a valid URL';
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  return url.href.length > MAX_URL_LENGTH ? `must be at most ${MAX_URL_LENGTH} characters when encoded` : url;
}

function isLocalhost(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost');
}
