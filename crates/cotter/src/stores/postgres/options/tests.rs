use super::parse;

fn instance(url: &str) -> String {
    parse(url).unwrap().1.common.instance
}

fn refused(url: &str) -> String {
    let error = parse(url).map(|_| ()).unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
    error
}

#[test]
fn addresses() {
    assert_eq!(instance("postgres://app:secret@db-1/jobs"), "db-1:5432/jobs");
    assert_eq!(instance("postgresql://app@db-1:6000,db-2/jobs"), "db-1:6000,db-2:5432/jobs");
    assert_eq!(instance("postgres://app@[::1]/jobs?sslmode=disable"), "[::1]:5432/jobs");
    assert_eq!(instance("postgres://app@/jobs?host=/run/postgresql"), "/run/postgresql/.s.PGSQL.5432/jobs");
    assert_eq!(
        instance("postgres://app@%2Frun%2Fpostgresql:6000/jobs"),
        "/run/postgresql/.s.PGSQL.6000/jobs"
    );
    assert_eq!(instance("postgres://app@localhost"), "localhost:5432/app");
    for url in ["postgres://app@:5433/jobs?host=/run", "postgres://app:secret@:5433/jobs?host=/run"] {
        assert_eq!(instance(url), "/run/.s.PGSQL.5433/jobs", "{url}");
    }
    assert_eq!(instance("postgres://:5433/jobs?host=/run"), "/run/.s.PGSQL.5433/jobs");
    assert!(refused("postgres:aé").contains("//"));
}

#[test]
fn what_is_wrong_is_named() {
    assert!(refused("postgres://app:secret@db-1/jobs?schema=a;drop").contains("schema="));
    assert!(refused("postgres://app:secret@db-1/jobs?prefix=Cotter").contains("prefix="));
    assert!(refused("postgres://app:secret@db-1/jobs?mode=magic").contains("mode=magic"));
    assert!(refused("postgres://app:secret@db-1/jobs?colour=red").contains("colour"));
    assert!(refused("postgres://app:secret@db-1/jobs?sslmode=prefer").contains("verify-full"));
    assert!(refused("postgres://app:secret@db-1/jobs?sslmode=disable&ca=/dev/null").contains("sslmode"));
    assert!(refused("postgres://app:secret@db-1/jobs?connections=0").contains("connections="));
    assert!(refused("postgres:app").contains("//"));
}

/// As hosted services and the configurations of other drivers have them.
#[test]
fn urls_that_people_have() {
    let at = |url: &str| {
        let (params, options) = parse(url).unwrap_or_else(|e| panic!("{url}: {e}"));
        (options.common.instance, params.tls.is_some())
    };
    for (url, instance) in [
        ("postgres://u:secret@ec2-1.compute.amazonaws.com:5432/d", "ec2-1.compute.amazonaws.com:5432/d"),
        (
            "postgresql://u:secret@ep-a.neon.tech/n?sslmode=require&channel_binding=require",
            "ep-a.neon.tech:5432/n",
        ),
        ("postgresql://u.x:secret@a.supabase.com:6543/p?pgbouncer=true", "a.supabase.com:6543/p"),
        (
            "postgres://avnadmin:secret@pg-1.aivencloud.com:12691/d?sslmode=require",
            "pg-1.aivencloud.com:12691/d",
        ),
        (
            "postgres://u%40s:secret@s.postgres.database.azure.com/p?sslmode=verify-full&sslrootcert=system",
            "s.postgres.database.azure.com:5432/p",
        ),
        (
            "postgresql://u@h1,h2:6000/d?target_session_attrs=read-write&connect_timeout=10&keepalives_idle=30",
            "h1:5432,h2:6000/d",
        ),
        ("postgresql://h:5433/?user=u&dbname=d&ssl=true", "h:5433/d"),
        ("postgres://u@h/d?schema=public&connection_limit=5&pool_timeout=2", "h:5432/d"),
        (
            "postgres://u@h/d?pool=5&encoding=unicode&prepared_statements=false&application_name=bin%20rails",
            "h:5432/d",
        ),
        ("postgres://u@h/d?ssl-mode=require&statement-cache-capacity=10", "h:5432/d"),
    ] {
        assert_eq!(at(url), (instance.to_owned(), true), "{url}");
    }
    assert_eq!(at("postgres:///d?host=/run&port=5433").0, "/run/.s.PGSQL.5433/d");
    let (params, options) =
        parse("postgres://u@h/d?connect_timeout=10&application_name=web&options=-c%20a.b%3D1").unwrap();
    assert_eq!(options.common.connect_timeout, std::time::Duration::from_secs(10));
    assert_eq!(
        (params.login.get_application_name(), params.login.get_options()),
        (Some("web"), Some("-c a.b=1"))
    );
}

#[test]
fn urls_that_are_corrected() {
    let error = refused("postgres://app:secret@db-1:6000/jobs?sslmode=prefer&password=secret&mode=row");
    assert!(
        error.ends_with("write postgres://app:***@db-1:6000/jobs?sslmode=verify-full&mode=row"),
        "{error}"
    );
    for (options, part) in [
        ("sslmode=no-verify", "does not verify"),
        ("sslaccept=accept_invalid_certs", "does not verify"),
        ("target_session_attrs=prefer-standby", "standby"),
        ("channel_binding=require&sslmode=disable", "channel_binding=require needs"),
        ("port=x", "port="),
        ("sslrootcert=/nowhere", "/nowhere"),
    ] {
        let error = refused(&format!("postgres://app:secret@db-1/jobs?{options}"));
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn options_of_other_modes_are_refused() {
    let url = |options: &str| format!("postgres://app:secret@db-1/jobs?{options}");
    for good in
        ["mode=row", "mode=row&table=shop.orders&column=id", "mode=advisory", "mode=shedlock&table=locks"]
    {
        assert!(parse(&url(good)).is_ok(), "{good}");
    }
    assert!(refused(&url("table=orders&column=id")).contains("mode=row"));
    assert!(refused(&url("table=locks")).contains("mode=row or mode=shedlock"));
    assert!(refused(&url("mode=advisory&table=orders&column=id")).contains("mode=row"));
    assert!(refused(&url("mode=row&table=orders")).contains("column="));
    assert!(refused(&url("mode=row&column=id")).contains("table="));
    assert!(refused(&url("mode=row&table=a.b.c&column=id")).contains("table="));
    assert!(refused(&url("mode=row&table=a;b&column=id")).contains("table="));
    assert!(refused(&url("mode=row&table=orders&column=i'd")).contains("column="));
    assert!(refused(&url("mode=shedlock&column=id")).contains("column="));
    assert!(refused(&url("mode=row&session_timeout=5ms")).contains("session_timeout="));
    assert!(refused(&url("mode=none")).contains("shedlock"));
}

#[test]
fn a_missing_table_of_shedlock_is_sought_where_it_was_looked_for() {
    let needed = |options: &str| {
        parse(&format!("postgres://app@db-1/jobs?mode=shedlock{options}")).unwrap().1.needed()
    };
    let (table, missing) = needed("");
    assert_eq!(table, r#""shedlock""#);
    assert!(missing.contains("search_path") && missing.contains("schema="), "{missing}");
    let (table, missing) = needed("&schema=ops&table=locks");
    assert_eq!((&*table, &*missing), (r#""ops"."locks""#, "there is no table locks in the schema ops"));
    assert_eq!(needed("&schema=ops&table=java.locks").0, r#""java"."locks""#);
}

/// Only where nobody can listen, TLS is left out without being told to.
#[test]
fn tls_is_the_default_beyond_this_host() {
    let tls = |url: &str| parse(url).unwrap().0.tls.is_some();
    assert!(tls("postgres://app@db-1/jobs") && tls("postgres://app@localhost,db-1/jobs"));
    assert!(tls("postgres://app@localhost/jobs?sslmode=verify-full"));
    for local in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql"] {
        assert!(!tls(&format!("postgres://app@{local}/jobs")), "{local}");
    }
    assert!(!tls("postgres://app@db-1/jobs?sslmode=disable"));
}
