-- The gateway's own page for cards, where an attempt with a card is paid.
alter table gateway.checkout_attempts
  -- The token and the address of the page, encrypted; null: not opened yet, or another method.
  add column page text,
  -- When an instance began to open the page.
  add column page_requested_at timestamptz,
  -- When the page has certainly ended: a minute after its time at the gateway.
  add column page_ends_at timestamptz,
  -- When the gateway was last asked for the transactions of the page.
  add column page_checked_at timestamptz,
  -- The gateway has confirmed that the page can no longer be used.
  add column is_page_closed boolean not null default false;
