import { sql } from 'kysely';
import type { Migration } from './migration.js';

/** Column types are the ones that SQLite and PostgreSQL share; `bigint` holds milliseconds. */
export const initial: Migration = {
  version: 1,
  name: 'initial',
  statements: ({ text, clustered, busy }) => [
    sql`create table hookplane_tenants (
        id ${text} primary key, rate_per_second double precision, rate_burst bigint, rate_used double precision,
        metadata ${text} not null, created_at bigint not null, updated_at bigint not null)${busy}`,
    sql`create index hookplane_tenants_by_time on hookplane_tenants (created_at, id)`,

    sql`create table hookplane_deleted_tenants (
        tenant_hash ${text} primary key, tenant_id ${text}, at bigint not null, message_id ${text} not null)`,
    // Hardly ever has it a row: of tenants of which something is left.
    sql`create unique index hookplane_deleted_tenants_by_tenant on hookplane_deleted_tenants (tenant_id)
        where tenant_id is not null`,

    sql`create table hookplane_endpoints (
        id ${text} primary key, tenant_id ${text}, url ${text} not null, description ${text}, status ${text} not null,
        paused_reason ${text}, paused_at bigint, types ${text}, channels ${text}, filter ${text}, headers ${text} not null,
        metadata ${text} not null, retry ${text}, rate_per_second double precision, rate_burst bigint,
        rate_used double precision, max_in_flight bigint, timeout_ms bigint, failing_since bigint, slow_until bigint,
        slow_step bigint not null default 0, revision ${text} not null, created_at bigint not null, updated_at bigint not null)${busy}`,
    sql`create index hookplane_endpoints_by_status on hookplane_endpoints (status, id)`,
    // With the revision, which a send asks for of all of a tenant.
    sql`create index hookplane_endpoints_by_tenant on hookplane_endpoints (tenant_id, id, revision)`,
    sql`create index hookplane_endpoints_by_tenant_and_status on hookplane_endpoints
        (tenant_id, status, id)`,

    sql`create table hookplane_deleted_endpoints (
        id ${text} primary key, tenant_id ${text}, deleted_at bigint not null)`,
    sql`create index hookplane_deleted_endpoints_by_tenant on hookplane_deleted_endpoints (tenant_id, id)`,
    // What retention goes by.
    sql`create index hookplane_deleted_endpoints_by_deletion on hookplane_deleted_endpoints (deleted_at)`,

    sql`create table hookplane_endpoint_secrets (
        id ${text} primary key, endpoint_id ${text} not null, secret ${text} not null, created_at bigint not null,
        expires_at bigint)`,
    sql`create index hookplane_endpoint_secrets_by_endpoint on hookplane_endpoint_secrets (endpoint_id, created_at)`,

    sql`create table hookplane_messages (
        id ${text} primary key, tenant_id ${text}, type ${text} not null, channels ${text}, status ${text} not null,
        idempotency_key ${text}, created_at bigint not null, expires_at bigint not null,
        finished_at bigint, trace_context ${text})${clustered}${busy}`,
    // Of those without a tenant as well: replays to an endpoint without one go by it.
    sql`create index hookplane_messages_by_tenant on hookplane_messages (tenant_id, id)`,
    sql`create index hookplane_messages_by_type on hookplane_messages (type, id)`,
    // Applications without tenants do not pay for it.
    sql`create index hookplane_messages_by_tenant_and_type on hookplane_messages (tenant_id, type, id)
        where tenant_id is not null`,
    // Most messages are delivered: the others are what is searched for, and small indexes find them. That of a tenant
    // comes first: SQLite, to which both are as good for one tenant, takes it then.
    sql`create index hookplane_messages_undelivered_by_tenant on hookplane_messages (tenant_id, status, id)
        where status <> 'delivered' and tenant_id is not null`,
    sql`create index hookplane_messages_undelivered on hookplane_messages (status, id)
        where status <> 'delivered'`,
    // What retention goes by: a message enters it when nothing is owed of it any more.
    sql`create index hookplane_messages_finished on hookplane_messages (finished_at) where finished_at is not null`,

    sql`create table hookplane_payloads (message_id ${text} primary key, payload ${text} not null)`,

    sql`create table hookplane_idempotency_keys (
        tenant_id ${text} not null, key ${text} not null, message_id ${text} not null, fingerprint ${text} not null,
        created_at bigint not null, message ${text}, primary key (tenant_id, key))`,
    // Of keys whose message is gone; others pay nothing for them.
    sql`create index hookplane_idempotency_keys_alone on hookplane_idempotency_keys (created_at)
        where message is not null`,
    sql`create index hookplane_idempotency_keys_alone_by_tenant on hookplane_idempotency_keys
        (tenant_id, message_id) where message is not null`,

    sql`create table hookplane_deliveries (
        message_id ${text} not null, endpoint_id ${text} not null, status ${text} not null,
        "trigger" ${text} not null, attempt_count bigint not null, schedule_step bigint not null, due_at bigint not null,
        expires_at bigint not null, lease_owner ${text}, lease_until bigint, fence bigint not null,
        takeovers bigint not null default 0, webhook_id ${text}, last_error ${text}, delivered_at bigint,
        primary key (message_id, endpoint_id))${clustered}${busy}`,
    // A lane is an endpoint's range of this index. What is leased has left it, so that nobody walks over it. What is due at
    // the same millisecond is in the order in which it was sent, as ids are. With the end of the lease, which is null in all
    // of it, SQLite counts what is owed without a look at the rows.
    sql`create index hookplane_deliveries_due on hookplane_deliveries (endpoint_id, due_at, message_id, lease_until)
        where status = 'pending' and lease_until is null`,
    // Never is it negative: that it is said keeps the index from all statements that do not say so. By statistics of an hour
    // in which nothing was owed PostgreSQL would find every due delivery by it, going over all that is owed for each.
    sql`create index hookplane_deliveries_expiring on hookplane_deliveries (expires_at)
        where status = 'pending' and expires_at >= 0`,
    sql`create index hookplane_deliveries_leased on hookplane_deliveries (endpoint_id, lease_until)
        where lease_until is not null`,
    sql`create index hookplane_deliveries_by_endpoint on hookplane_deliveries (endpoint_id, message_id)`,

    sql`create table hookplane_attempts (
        id ${text} not null, message_id ${text} not null, endpoint_id ${text} not null, number bigint not null,
        status ${text} not null, "trigger" ${text} not null, started_at bigint not null, duration_ms bigint not null,
        request_url ${text} not null, remote_address ${text}, response_status bigint, response_headers ${text},
        response_body ${text}, error_kind ${text}, error ${text}, next_attempt_at bigint)`,
    sql`create index hookplane_attempts_by_message on hookplane_attempts (message_id, id)`,
    // Every attempt pays for an entry. Outcome and duration are part of it so that counting reads no row.
    sql`create index hookplane_attempts_by_endpoint on hookplane_attempts
        (endpoint_id, id, started_at, status, duration_ms)`,
    // Few attempts fail, and they are what is searched for.
    sql`create index hookplane_attempts_failed on hookplane_attempts (endpoint_id, id)
        where status = 'failed'`,

    sql`create table hookplane_workers (id ${text} primary key, heartbeat_at bigint not null)${busy}`,

    sql`create table hookplane_audit_log (
        id ${text} primary key, at bigint not null, tenant_id ${text}, operation ${text} not null, target_id ${text} not null,
        changes ${text} not null, actor_id ${text}, actor_name ${text}, request_id ${text})${clustered}`,
    sql`create index hookplane_audit_log_by_tenant on hookplane_audit_log (tenant_id, id)`,
    sql`create index hookplane_audit_log_by_target on hookplane_audit_log (target_id, id)`,
    sql`create index hookplane_audit_log_by_actor on hookplane_audit_log (actor_id, id)`,
    sql`create index hookplane_audit_log_by_operation on hookplane_audit_log (operation, id)`,
    // A bound caller sees what came after the last one.
    sql`create index hookplane_audit_log_deletions on hookplane_audit_log (tenant_id, id)
        where operation = 'tenants.delete'`,

    sql`create table hookplane_depth_samples (
        tenant_id ${text} not null, at bigint not null, depth bigint not null, oldest_age_ms bigint not null,
        primary key (tenant_id, at))${clustered}`,
    // What removal goes by.
    sql`create index hookplane_depth_samples_by_time on hookplane_depth_samples (at)`,
  ],
};
