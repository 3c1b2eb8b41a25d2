import type { Store } from '../../lib/store/store.js';
import { auditContract } from './store/audit.js';
import { clockStepContract } from './store/clock-step.js';
import { depthContract } from './store/depth.js';
import { endpointAttemptsContract } from './store/endpoint-attempts.js';
import { endpointStoreContract } from './store/endpoints.js';
import { expungeContract } from './store/expunge.js';
import { leaseContract } from './store/lease.js';
import { sendLeaseContract } from './store/send-lease.js';
import { sendAgainContract } from './store/send-again.js';
import { messageListContract } from './store/message-lists.js';
import { messageStoreContract } from './store/messages.js';
import { openingContract } from './store/opening.js';
import { messageRetentionContract } from './store/message-retention.js';
import { outboxContract } from './store/outbox.js';
import { requeueContract } from './store/requeue.js';
import { rollUpContract } from './store/roll-up.js';
import { settleContract } from './store/settle.js';
import { sharedStoreContract } from './store/shared.js';
import { tenantDeletionContract } from './store/tenant-deletion.js';
import { tenantStoreContract } from './store/tenants.js';
import { workerStoreContract } from './store/workers.js';

/** A store over data of its own, and what is done to that data from outside. */
export interface StoreUnderTest {
  /** Over an empty database; not yet opened. */
  store: Store;
  /** Another store over the same data, not yet opened. Absent where no two stores can share data. */
  reopen?(options?: { migrate?: boolean }): Promise<Store>;
  /** Makes the schema say that it has this version. */
  setSchemaVersion?(version: number): Promise<void>;
  /** Closes every store and removes the data. */
  close(): Promise<void>;
}

/** @param emptied whether the database may be one that was used before and is empty again */
export type OpenStore = (emptied: boolean) => Promise<StoreUnderTest>;

/** What every store promises the sender. */
export function storeContract(name: string, open: OpenStore): void {
  describe(name, () => {
    let underTest: StoreUnderTest;
    const current = (): StoreUnderTest => underTest;
    const store = (): Store => underTest.store;

    afterEach(() => underTest.close());

    describe('opening', () => {
      beforeEach(async () => {
        underTest = await open(false);
      });
      openingContract(current);
    });
    describe('once opened', () => {
      beforeEach(async () => {
        underTest = await open(true);
        await store().open();
      });
      describe('endpoints', () => endpointStoreContract(store));
      describe('attempts of an endpoint', () => endpointAttemptsContract(store));
      describe('messages', () => messageStoreContract(store));
      describe('lists of messages', () => messageListContract(store));
      describe('tenants', () => tenantStoreContract(store));
      describe('deleting a tenant', () => tenantDeletionContract(store));
      describe('leasing', () => leaseContract(store));
      describe('leasing by a send', () => sendLeaseContract(store));
      describe('sending again', () => sendAgainContract(store));
      describe('the outbox', () => outboxContract(store));
      describe('what is owed, over time', () => depthContract(store));
      describe('settling', () => settleContract(store));
      describe('requeueing', () => requeueContract(store));
      describe('the status of a message', () => rollUpContract(store));
      describe('expunging', () => expungeContract(store));
      describe('retention of messages', () => messageRetentionContract(store));
      describe('workers', () => workerStoreContract(store));
      describe('when the clock is set back', () => clockStepContract(store));
      describe('the audit log', () => auditContract(store));
      describe('shared by several stores', () => sharedStoreContract(current));
    });
  });
}
