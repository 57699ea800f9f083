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
    assert!(refused("postgres://app:secret@db-1/jobs?sslmode=require").contains("verify-full"));
    assert!(refused("postgres://app:secret@db-1/jobs?sslmode=disable&ca=/dev/null").contains("sslmode"));
    assert!(refused("postgres://app:secret@db-1/jobs?connections=0").contains("connections="));
    assert!(refused("postgres:app").contains("//"));
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
