/** A line of the audit log: what happened to a memory, never what it says. */
export interface Event {
  id: string;
  seq: number;
  event_type: string;
  entity_type: string;
  entity_id: string;
  namespace: string[];
  occurred_at: string;
  actor: string;
  request_id?: string;
  payload?: unknown;
}
