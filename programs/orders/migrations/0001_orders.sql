create table orders (
    id bigint primary key,
    state text not null default 'open',
    -- The token of the last holder of the order's lock that has written here.
    fence bigint not null default 0
);
create table payments (
    order_id bigint primary key references orders,
    receipt text not null
);
