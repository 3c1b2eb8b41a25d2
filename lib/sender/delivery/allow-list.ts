import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { HookplaneError } from '../../model/errors.js';
import { classifyAddress, type IpAddress, matches, parseAddress } from './address-class.js';

const IPV4_BITS = 32;
const IPV6_BITS = 128;
/** An IPv4-mapped network is kept as the IPv4 network that it maps; that is how addresses are compared. */
const MAPPED_BITS = IPV6_BITS - IPV4_BITS;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_NAME_LENGTH = 253;

/** The targets that the operator admits although they are not public. */
export interface AllowList {
  namesHost(hostname: string): boolean;
  /** `exactly` leaves out every network wider than one address. */
  namesAddress(ip: IpAddress, exactly?: boolean): boolean;
}

/**
 * Reads `allowTargets`: addresses, networks in CIDR form, host names, and `*.example.internal` for every name below
 * `example.internal` (not itself).
 *
 * An entry that is none of these throws, and so does one that could never take effect: a guard that silently ignores
 * its settings is found out in production.
 *
 * @throws `INVALID_OPTIONS`
 */
export function readAllowList(entries: readonly string[]): AllowList {
  const networks: [IpAddress, number][] = [];
  const names = new Set<string>();
  const parents: string[] = [];
  for (const entry of entries) {
    const read = readEntry(entry);
    if (typeof read === 'object') networks.push(read);
    else if (read.startsWith('*.')) parents.push(read.slice(1));
    else names.add(read);
  }
  return {
    namesHost: (hostname) =>
      names.has(hostname) ||
      parents.some((parent) => hostname.length > parent.length && hostname.endsWith(parent)),
    namesAddress: (ip, exactly = false) =>
      networks.some((network) => (!exactly || isSingle(network)) && matches(ip, network)),
  };
}

function isSingle([ip, bits]: readonly [IpAddress, number]): boolean {
  return bits === (ip.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS);
}

function readEntry(entry: unknown): [IpAddress, number] | string {
  if (typeof entry !== 'string') throw invalid(String(entry), 'is not a string');
  if (entry.includes('/')) return readNetwork(entry);
  return isIP(entry) === 0 ? readName(entry) : readNetwork(entry, `${entry}/${isIP(entry) === 4 ? 32 : 128}`);
}

function readNetwork(entry: string, cidr = entry): [IpAddress, number] {
  const [address = '', bits = '', ...rest] = cidr.split('/');
  if (address.includes('%')) throw invalid(entry, 'has a zone, and addresses with one are never a target');
  const ip = parseAddress(address);
  const max = ip?.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS;
  if (ip === null || rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > max) {
    throw invalid(entry, 'is no network: write one as "10.0.0.0/8" or "fd00::/8"');
  }
  const network = unmapped([ip, Number(bits)]);
  const first = (network[0].kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(
    network.join('/'),
  );
  // Half of these are typos for one address, which would open a whole network.
  if (first.toString() !== network[0].toString()) {
    throw invalid(entry, `does not start its network: write "${first}/${network[1]}", or the address alone`);
  }
  const { class: kind, translated } = classifyAddress(network[0].toString()) ?? {};
  if (isSingle(network) && kind === 'unspecified') throw invalid(entry, 'is never a target');
  if (translated && network[1] >= MAPPED_BITS) throw invalid(entry, 'is NAT64: its IPv4 address decides');
  return network;
}

function unmapped([ip, bits]: [IpAddress, number]): [IpAddress, number] {
  const mapped = ip instanceof ipaddr.IPv6 && ip.isIPv4MappedAddress() && bits >= MAPPED_BITS;
  return mapped ? [ip.toIPv4Address(), bits - MAPPED_BITS] : [ip, bits];
}

function readName(entry: string): string {
  const wildcard = entry.startsWith('*.') ? '*.' : '';
  const name = domainToASCII(entry.slice(wildcard.length)).replace(/\.$/, '');
  const labels = name.split('.');
  if (name.length > MAX_NAME_LENGTH || !labels.every((label) => LABEL.test(label)) || isIP(name) !== 0) {
    throw invalid(
      entry,
      'is neither an address, a network, a host name nor a pattern such as "*.example.internal" (without scheme, port or path)',
    );
  }
  return wildcard + name;
}

function invalid(entry: string, problem: string): HookplaneError {
  return new HookplaneError('INVALID_OPTIONS', `allowTargets: ${JSON.stringify(entry)} ${problem}`);
}
