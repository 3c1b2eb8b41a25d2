import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type KnownKeys, unknownKey } from '../../model/known-keys.js';
import {
  type Authorize,
  type Decider,
  type Decision,
  judge,
  lazyAuthorizer,
  lazyDecider,
  toDecision,
} from '../authorize.js';
import type { RequestHead } from '../lazy-request.js';
import { CROSS_SITE, type CrossSiteOptions, createCrossSiteGuard } from './cross-site.js';
import { invalidOptions } from './invalid-options.js';
import { nodeRequest } from './node-request.js';
import { xfccValue } from './xfcc.js';

const invalid = invalidOptions('clientCertificate');

export interface ClientCertificateOptions extends CrossSiteOptions {
  /**
   * Where the proxy names the subject of the certificate that it has verified: `ssl-client-s-dn` as nginx is mostly
   * set up, `x-forwarded-client-cert` of Envoy and Istio, whose `Subject` is taken. The proxy has to remove what the
   * client sends under this name.
   */
  header: string;
  /** The addresses of the proxy, or networks such as `10.1.0.0/16`. From anywhere else the header means nothing. */
  fromProxy: string | readonly string[];
  /**
   * A header that has to say `SUCCESS` beside it, such as `ssl-client-verify`: set up with `optional_no_ca`, nginx also
   * names the subject of certificates that it could not verify.
   */
  verifyHeader?: string;
  /** The field of `x-forwarded-client-cert` that identifies the client, where it is not the subject. @default 'Subject' */
  field?: 'Subject' | 'URI' | 'DNS' | 'Hash';
  /** The tenant of each subject, written as the proxy writes it. Others are refused with 403. */
  tenants?: Readonly<Record<string, string>>;
  /** Decides on a subject, in place of `tenants`. */
  allow?: Decider<string>;
}

const OPTIONS: KnownKeys<ClientCertificateOptions> = {
  header: true,
  fromProxy: true,
  verifyHeader: true,
  field: true,
  tenants: true,
  allow: true,
  trustedOrigins: true,
  csrf: true,
};

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What is looked at of a Node.js request. */
interface ProxiedRequest {
  socket?: { remoteAddress?: unknown };
  /** Names and values in turn, as they came: that of HTTP/2 has no `headersDistinct`. */
  rawHeaders?: readonly string[];
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
/** What an IPv4-mapped address has in front of the IPv4 address. */
const MAPPED_BITS = 96;
const XFCC = 'x-forwarded-client-cert';
const WANTED_OF_REQUEST = 'Node.js request that would tell the address of the proxy';
const MISSING: Decision = { allow: false, status: 401, publicMessage: 'A client certificate is required' };

/**
 * Lets in by the client certificate that a proxy in front of the application has verified and names in a header. The
 * subject becomes the decision's `actor` unless `allow` names one. Without a certificate, or from an address that is
 * none of the proxy's, the answer is 401.
 *
 * Browsers present certificates by themselves, like cookies, so cross-site requests are refused as `fromUser` does it.
 * It needs Node.js's request, as `{ req }` in the handler's `host`; `adminMiddleware` sees to that.
 * @throws HookplaneError `INVALID_OPTIONS`
 */
export function clientCertificate(options: ClientCertificateOptions): Authorize {
  const problem = unknownKey(options, OPTIONS);
  if (problem !== null) throw invalid(`the configuration ${problem}`);
  const header = readHeaderName(options.header, 'header');
  const verifyHeader =
    options.verifyHeader === undefined ? undefined : readHeaderName(options.verifyHeader, 'verifyHeader');
  const { field = 'Subject' } = options;
  const isProxy = readNetworks(options.fromProxy);
  const decideOn = lazyDecider(readRule(options));
  const isCrossSite = createCrossSiteGuard(options, 'clientCertificate');

  function subjectOf({ headers }: RequestHead, req: ProxiedRequest): string | undefined {
    if (!isProxy(req.socket?.remoteAddress)) return undefined;
    const one = (name: string) => (isRepeated(req, name) ? undefined : headers.get(name));
    if (verifyHeader !== undefined && one(verifyHeader) !== 'SUCCESS') return undefined;
    const value = one(header) || undefined;
    return value !== undefined && header === XFCC ? xfccValue(value, field) : value;
  }

  return lazyAuthorizer(async (request, info) => {
    const subject = subjectOf(request.head, nodeRequest(info, 'clientCertificate', WANTED_OF_REQUEST));
    if (subject === undefined) return MISSING;
    if (isCrossSite(request.head)) return CROSS_SITE;
    const verdict = await judge(() => decideOn(subject, request, info));
    return toDecision(verdict.allowed ? { ...verdict, actor: verdict.actor ?? { id: subject } } : verdict);
  });
}

/** Two values mean that the client has sent one of them, and nothing says which. */
function isRepeated({ rawHeaders = [] }: ProxiedRequest, name: string): boolean {
  return rawHeaders.filter((each, at) => at % 2 === 0 && each.toLowerCase() === name).length > 1;
}

function readRule({
  tenants,
  allow,
}: ClientCertificateOptions): NonNullable<ClientCertificateOptions['allow']> {
  if ((tenants === undefined) === (allow === undefined)) {
    throw invalid(
      'say who may enter by "tenants" (subject to tenant) or by "allow" (a function), and not by both',
    );
  }
  if (allow !== undefined) {
    if (typeof allow !== 'function') throw invalid('allow must be a function');
    return allow;
  }
  const bound = new Map<string, string>(Object.entries(tenants ?? {}));
  for (const [subject, tenantId] of bound) {
    if (typeof tenantId !== 'string' || tenantId === '') {
      throw invalid(`tenants[${JSON.stringify(subject)}] must be a tenant id, a non-empty string`);
    }
  }
  return (subject) => {
    const tenantId = bound.get(subject);
    return tenantId === undefined ? false : { allow: true, tenantId };
  };
}

function readHeaderName(name: unknown, option: string): string {
  if (typeof name === 'string' && HEADER_NAME.test(name)) return name.toLowerCase();
  throw invalid(`${option} must be the name of a header, such as "ssl-client-s-dn"`);
}

function readNetworks(fromProxy: unknown): (address: unknown) => boolean {
  const entries: readonly unknown[] = Array.isArray(fromProxy) ? fromProxy : [fromProxy];
  if (fromProxy === undefined || entries.length === 0) {
    throw invalid('fromProxy must name the addresses of the proxy: anybody else could send the header, too');
  }
  const networks = entries.map(readNetwork);
  return (address) => {
    if (typeof address !== 'string' || isIP(address) === 0) return false;
    // An IPv4 peer of a socket for both families is `::ffff:10.0.0.1`.
    const ip: Address = ipaddr.process(address);
    return networks.some(([first, bits]) => ip.kind() === first.kind() && ip.match(first, bits));
  };
}

function readNetwork(entry: unknown): [Address, number] {
  const [address = '', bits, ...rest] = String(entry).split('/');
  const version = rest.length > 0 ? 0 : isIP(address);
  const cidr = `${address}/${bits ?? (version === 4 ? 32 : 128)}`;
  const wanted = 'must be an address or a network, such as "127.0.0.1" or "10.1.0.0/16"';
  if (version === 0 || !ipaddr.isValidCIDR(cidr))
    throw invalid(`fromProxy ${wanted}, and is ${JSON.stringify(entry)}`);
  const network = unmapped(ipaddr.parseCIDR(cidr));
  const first = (network[0].kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(
    network.join('/'),
  );
  // Half of these are typos for one address, which would trust a whole network.
  if (first.toString() === network[0].toString()) return network;
  throw invalid(
    `fromProxy ${wanted}: write "${first}/${network[1]}" for ${JSON.stringify(entry)}, or the address alone`,
  );
}

/** Addresses are compared unmapped, so an IPv4-mapped network is the IPv4 network that it maps. */
function unmapped([ip, bits]: [Address, number]): [Address, number] {
  const isMapped = ip instanceof ipaddr.IPv6 && ip.isIPv4MappedAddress() && bits >= MAPPED_BITS;
  return isMapped ? [ip.toIPv4Address(), bits - MAPPED_BITS] : [ip, bits];
}
