// Registers the demo's endpoints, those that are not there yet, and keeps what their receivers were told: a secret is
// shown when it is made, and the control plane shows it to nobody afterwards.
import { readFileSync, writeFileSync } from 'node:fs';

const ENDPOINTS = {
  'acme/all': { tenantId: 'acme', description: 'Everything that happens at acme' },
  'acme/billing': {
    tenantId: 'acme',
    description: 'Invoices of acme; fails twice before it takes one',
    types: ['invoice.*'],
    retry: { delaysSeconds: [1, 2, 4], jitter: 0 },
  },
  'globex/all': { tenantId: 'globex', description: 'Everything that happens at globex, signed with ed25519' },
};

/**
 * @param secretsFile where the receivers keep their secrets
 * @returns by name, each endpoint's record and whether it was found; and the secrets of each
 */
export async function registerEndpoints(sender, { receiverUrl, secretsFile }) {
  const secrets = readSecrets(secretsFile);
  const { endpoints: known } = await sender.endpoints.list({ limit: 1000 });
  const endpoints = {};
  for (const [name, settings] of Object.entries(ENDPOINTS)) {
    const url = `${receiverUrl}/${name}`;
    let endpoint = known.find(({ metadata }) => metadata.demo === name);
    const found = endpoint !== undefined;
    if (!found || !secrets[name]) {
      const { secret, verifiedBy } = newSecret(sender, name);
      secrets[name] = verifiedBy;
      endpoint = found
        ? await sender.endpoints.rotateSecret(endpoint.id, { secret, overlapSeconds: 0 })
        : await sender.endpoints.create({ ...settings, url, secret, metadata: { demo: name } });
    }
    // The receiver may be at another port than the last time.
    if (endpoint.url !== url) endpoint = await sender.endpoints.update(endpoint.id, { url });
    endpoints[name] = { ...endpoint, found };
  }
  writeFileSync(secretsFile, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return { endpoints, secrets };
}

/** What the endpoint signs with, and what its receiver verifies by. */
function newSecret(sender, name) {
  if (name === 'globex/all') {
    const { privateKey, publicKey } = sender.keys.generateAsymmetric();
    return { secret: privateKey, verifiedBy: [publicKey] };
  }
  // The second one is for the rotation among the commands: the receiver knows it beforehand.
  const [secret, next] = [sender.keys.generateSymmetric().secret, sender.keys.generateSymmetric().secret];
  return { secret, verifiedBy: [secret, next] };
}

function readSecrets(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw error;
  }
}
