import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * `public`: the open internet. `private`: loopback, RFC 1918, carrier-grade NAT and unique local, which a host that
 * the operator named may have. `metadata`: link-local and the clouds' own services, where instance credentials are
 * given out. `unspecified`: "any address", which the kernel connects to itself. `special`: everything else.
 */
export type AddressClass = 'public' | 'private' | 'metadata' | 'unspecified' | 'special';

export interface ClassifiedAddress {
  /** IPv4 for an IPv4-mapped IPv6 address. */
  ip: IpAddress;
  class: AddressClass;
  /** The class is that of the IPv4 address inside a NAT64 one, which no list of allowed targets can name. */
  translated: boolean;
}

const METADATA: [IpAddress, number][] = [
  '169.254.0.0/16', // link-local; AWS, Google Cloud, Azure, DigitalOcean and others at .169.254
  '168.63.129.16/32', // Azure's platform address, to every address list an ordinary one
  '192.0.0.192/32', // Oracle Cloud
  '100.100.100.200/32', // Alibaba Cloud
  'fd00:ec2::254/128', // AWS
  'fd20:ce::254/128', // Google Cloud
  'fe80::/10', // link-local
].map((cidr) => ipaddr.parseCIDR(cidr));

const PRIVATE_RANGES = new Set(['loopback', 'private', 'carrierGradeNat', 'uniqueLocal']);
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/**
 * What an address in its usual spelling is; null for anything else, one with a zone id included. Built on the
 * IANA special-purpose registries as `ipaddr.js` has them, and stricter than it: of IPv6 only 2000::/3 is public,
 * since everything outside is unassigned, local, or IPv4 in disguise (`::7f00:1`).
 */
export function classifyAddress(text: string): ClassifiedAddress | null {
  const address = parseAddress(text);
  if (address === null) return null;
  const ip =
    address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
  if (matches(ip, NAT64)) {
    const embedded = ipaddr.fromByteArray(ip.toByteArray().slice(12));
    return { ip, class: classOf(embedded), translated: true };
  }
  return { ip, class: classOf(ip), translated: false };
}

/**
 * Reads an address in its usual spelling. IPv6 goes through the URL parser first, which writes an IPv4 tail as hex:
 * `ipaddr.js` takes `::1.2.3.4` for the IPv4-mapped `::ffff:1.2.3.4`, and the kernel does not.
 */
export function parseAddress(text: string): IpAddress | null {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return null;
  return ipaddr.parse(family === 4 ? text : new URL(`http://[${text}]/`).hostname.slice(1, -1));
}

/** Whether an address lies in a network; addresses of the other family do not. */
export function matches(ip: IpAddress, [network, bits]: readonly [IpAddress, number]): boolean {
  return ip.kind() === network.kind() && ip.match(network, bits);
}

function classOf(ip: IpAddress): AddressClass {
  if (METADATA.some((network) => matches(ip, network))) return 'metadata';
  const range = ip.range();
  if (range === 'unspecified') return ip.toByteArray().some((byte) => byte !== 0) ? 'special' : 'unspecified';
  if (PRIVATE_RANGES.has(range)) return 'private';
  if (range !== 'unicast') return 'special';
  return ip.kind() === 'ipv4' || matches(ip, GLOBAL_UNICAST) ? 'public' : 'special';
}
