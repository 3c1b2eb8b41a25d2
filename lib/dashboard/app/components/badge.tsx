import type {
  Attempt,
  AttemptStatus,
  DeliveryStatus,
  Endpoint,
  MessageStatus,
} from '../../../client/index.js';
import { t } from '../texts.js';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'plain';

export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const MESSAGE_TONES: Record<MessageStatus, Tone> = {
  pending: 'busy',
  delivered: 'good',
  failed: 'bad',
  unrouted: 'plain',
};

export function MessageBadge({ status }: { status: MessageStatus }) {
  return <Badge tone={MESSAGE_TONES[status] ?? 'plain'}>{t.messageStatus[status] ?? status}</Badge>;
}

const DELIVERY_TONES: Record<DeliveryStatus, Tone> = {
  pending: 'busy',
  delivered: 'good',
  failed: 'bad',
  canceled: 'plain',
};

export function DeliveryBadge({ status }: { status: DeliveryStatus }) {
  return <Badge tone={DELIVERY_TONES[status] ?? 'plain'}>{t.deliveryStatus[status] ?? status}</Badge>;
}

export function AttemptBadge({ status }: { status: AttemptStatus }) {
  return <Badge tone={status === 'succeeded' ? 'good' : 'bad'}>{t.attemptStatus[status] ?? status}</Badge>;
}

export function EndpointBadge({ endpoint }: { endpoint: Endpoint }) {
  if (endpoint.status === 'active') return <Badge tone="good">{t.endpointStatus.active}</Badge>;
  const reason = endpoint.pausedReason ?? 'manual';
  return <Badge tone={reason === 'manual' ? 'warn' : 'bad'}>{t.pausedReason[reason] ?? reason}</Badge>;
}

/** The status of the response, or why there was none. */
export function AnswerCode({ attempt }: { attempt: Attempt }) {
  const text = attempt.responseStatus ?? (attempt.errorKind ? t.errorKind[attempt.errorKind] : t.noAnswer);
  return <span class={`code-status ${attempt.status === 'succeeded' ? 'good' : 'bad'}`}>{text}</span>;
}
