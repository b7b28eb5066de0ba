-- What callers changed, and what they tried to change and were refused. A charge that was stored is
-- not here: its payment has the actor in `created_by`, so a charge writes no additional row.
create table gateway.audit (
  -- UUIDv7: in the order of creation.
  id uuid primary key,
  -- `api_key:<prefix>` or `jwt:<subject>`.
  actor text not null,
  user_id text not null,
  -- The method and the route, such as `POST /payments/{pk}/refund/`.
  action text not null,
  -- The id in the path, or that of the created resource: a UUID, or the prefix of an API key.
  resource_id text,
  -- `changed`, `refused` or `exported`.
  outcome text not null,
  -- The HTTP status, and the error code of a refused request.
  status integer not null,
  code text,
  -- Equal requests that are refused shortly after each other share a row.
  attempts integer not null default 1,
  -- The id of the first of these requests.
  request_id text not null,
  created_at timestamptz not null
);
create index audit_by_actor on gateway.audit (actor, id);
create index audit_by_resource on gateway.audit (resource_id, id);
create index audit_by_outcome on gateway.audit (outcome, id);
create index audit_by_action on gateway.audit (action, id);
