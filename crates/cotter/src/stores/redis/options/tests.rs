//! URLs, good and bad.

use super::*;
use crate::ErrorKind;

fn instance(url: &str) -> String {
    parse(url).expect(url).1.instance
}

#[test]
fn addresses() {
    assert_eq!(instance("redis://localhost"), "localhost:6379");
    assert_eq!(instance("redis://me:secret@db.example:7000/3"), "db.example:7000/3");
    assert_eq!(instance("rediss://[::1]:7000"), "[::1]:7000");
    assert_eq!(instance("unix:///run/redis.sock?db=2"), "/run/redis.sock/2");
    assert_eq!(instance("redis+sentinel://u:secret@b:7000,a/orders"), "a:26379,b:7000/orders");
    assert_eq!(instance("rediss+sentinel://a,b:7000/my%2Forders/2"), "a:26379,b:7000/my/orders/2");
    assert_eq!(instance("redis+cluster://u:secret@b:7000,a/"), "the cluster of a:6379,b:7000");
    let (server, _) = parse("redis://u%40x:p%3A%40@h").expect("percent-encoded");
    assert_eq!((server.login.username(), server.login.password()), (Some("u@x"), Some("p:@")));
}

/// As hosted services and the configurations of other clients have them.
#[test]
fn urls_that_people_have() {
    for (url, at) in [
        ("rediss://default:secret@eu1-x.upstash.io:6379", "eu1-x.upstash.io:6379"),
        (
            "rediss://:secret@ec2-1.compute.amazonaws.com:7469?ssl_cert_reqs=required",
            "ec2-1.compute.amazonaws.com:7469",
        ),
        ("redis://default:secret@redis.railway.internal:6379?family=0", "redis.railway.internal:6379"),
        ("rediss://:secret@n.redis.cache.windows.net:6380/0?protocol=3", "n.redis.cache.windows.net:6380"),
        ("redis://h?db=2&decode_responses=True&max_connections=10", "h:6379/2"),
    ] {
        assert_eq!(instance(url), at);
    }
}

#[test]
fn options() {
    let (_, options) = parse("redis://h?mode=plain&retry=5ms&timeout=3s&request_id=me%2F1").expect("good");
    assert_eq!((options.protocol, options.retry), (Protocol::Plain, Some(Duration::from_millis(5))));
    assert_eq!((options.timeout, options.request_id.as_deref()), (Duration::from_secs(3), Some("me/1")));
}

#[test]
fn what_is_wrong_is_named_and_no_password_repeated() {
    let bad = [
        ("redis:h", "//"),
        ("redis://u:canary@h,i", "redis+sentinel:"),
        ("redis://u:canary@h,i", "redis+cluster:"),
        ("redis+cluster://u:canary@h,i/1", "no databases but 0"),
        ("redis+cluster://u:canary@h,i?db=0", "no databases but 0"),
        ("redis+cluster://u:canary@h,i?sentinel_password=canary", "redis+sentinel:"),
        ("redis+cluster://u:canary@", "host"),
        ("redis+sentinel://u:canary@h,i", "redis+sentinel://HOST,HOST,HOST/SERVICE"),
        ("redis+sentinel://u:canary@h,i/", "no service"),
        ("redis+sentinel://u:canary@h/orders/zero", "database"),
        ("redis+sentinel://h/orders?sentinel_passwort=canary", "sentinel_password_file"),
        ("redis+sentinel://h/orders?sentinel_password=canary%zz", "sentinel_password"),
        ("redis+sentinel://h/orders?sentinel_password_file=/there/is/none", "none"),
        ("redis://h?sentinel_password=canary", "redis+sentinel:"),
        ("rediss+sentinel://h/orders?sentinel_password=canary&ca=/there/is/none", "ca="),
        ("redis://:canary@", "host"),
        ("rediss://u:canary@h?ssl_cert_reqs=none", "write rediss://u:***@h"),
        ("redis://u:canary@h?ssl=true&db=1", "write redis://u:***@h?db=1"),
        ("redis://u:canary@h:port", "port"),
        ("redis://u:canary%zz@h", "password"),
        ("redis://u:canary@h/zero", "database"),
        ("redis://u:canary@h?mod=plain", "mod"),
        ("unix:///s?mod=plain", "password_file, db"),
        ("redis://u:canary@h?mode=redlock", "redisson"),
        ("redis://u:canary@h?timeout=2", "timeout"),
        ("redis://u:canary@h?timeout=0s", "timeout"),
        ("redis://u:canary@h?prefix=a{b", "prefix"),
        ("redis://u:canary@h?request_id=a", "request_id"),
        ("redis://u:canary@h?recipe=rwlock", "mode=redisson"),
        ("redis://u:canary@h?mode=redisson&recipe=mutex", "lock, fenced, fair, rwlock and permits"),
        ("redis://u:canary@h?announce=a=b", "redis+cluster:"),
        ("redis+cluster://u:canary@h?announce=10.0.0.2:6379", "announce=10.0.0.2:6379=localhost:7002"),
        ("redis+sentinel://u:canary@h/orders?announce=%40canary=b", "localhost:7002"),
        ("redis+cluster://u:canary@h?anounce=a=b", "db, announce"),
        ("redis+cluster://u:canary@h?mode=redisson", "sharded channels"),
        ("redis://u:canary@h?ca=/x", "ca="),
        ("rediss://u:canary@h?ca=/there/is/none", "ca="),
        ("unix://relative", "slashes"),
    ];
    for (url, part) in bad {
        let error = parse(url).err().unwrap_or_else(|| panic!("{url} is taken"));
        let text = format!("{error} {error:?}");
        assert_eq!(error.kind(), ErrorKind::Config, "{url}");
        assert!(
            text.contains(part) && !text.contains("canary") && !error.to_string().contains('\n'),
            "{url}: {text}"
        );
    }
}

/// It may be set in code before the store is connected to.
#[test]
fn a_user_needs_a_password() {
    let store = crate::stores::redis::Store::from_url("redis://canary@h").expect("not yet");
    let error = store.check_login().unwrap_err().to_string();
    assert!(error.contains(":PASSWORD@HOST") && !error.contains("canary"), "{error}");
    let asks = store.with_password_from(async || Ok::<_, crate::Error>("secret".to_owned()));
    asks.check_login().expect("it has one");
}

#[test]
fn options_are_set_in_code() {
    let store = crate::stores::redis::Store::from_url("redis://h?timeout=3s").expect("good");
    let store =
        store.with_protocol(Protocol::Plain).with_retry(Duration::ZERO).with_prefix("app").expect("good");
    let options = &store.0.options;
    assert_eq!((options.protocol, options.retry), (Protocol::Plain, Some(Duration::from_millis(1))));
    assert_eq!((&*options.prefix, options.timeout), ("app", Duration::from_secs(3)));
    let named = store.clone().with_client_name("orders").expect("good");
    assert_eq!(named.0.options.client_name, "orders");
    for wrong in [store.clone().with_prefix("a{b"), store.with_client_name("two words")] {
        assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Config);
    }
}

#[test]
fn debug_shows_no_password() {
    for url in ["redis://u:canary@h", "redis+sentinel://u:canary@h/orders?sentinel_password=canary"] {
        let (server, options) = parse(url).expect("good");
        let sentinels = server.endpoint.sentinels();
        let store = crate::stores::redis::Store::new(server.clone(), options);
        assert!(!format!("{store:?} {sentinels:?}").contains("canary"), "{url}");
    }
}
