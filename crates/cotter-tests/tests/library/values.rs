//! Names, tokens, records and losses as programs pass them on.

use cotter::{FencingToken, LossCause, Lost, Name};

#[test]
fn tokens_convert_to_what_databases_take() {
    let token = FencingToken::from(42);
    assert_eq!((u64::from(token), i64::try_from(token).unwrap()), (42, 42));
    assert!(i64::try_from(FencingToken::from(u64::MAX)).is_err());
}

#[test]
fn names_are_checked_however_they_are_made() {
    let made =
        [Name::new("a").unwrap(), Name::try_from("a").unwrap(), Name::try_from("a".to_owned()).unwrap()];
    assert!(made.iter().all(|name| *name == "a".parse::<Name>().unwrap()));
    assert!(Name::try_from("two\nlines").is_err() && Name::try_from(String::new()).is_err());
    assert_eq!(String::from(made[0].clone()), "a");
}

#[test]
fn a_stand_in_can_report_a_loss() {
    let lost = Lost::new(Name::new("a").unwrap(), 7.into(), LossCause::Gone);
    let error = cotter::Error::from(lost.clone());
    assert_eq!((error.lost(), error.kind()), (Some(&lost), cotter::ErrorKind::Lost));
}

mod json {
    use super::*;
    use cotter::{Client, ErrorKind, Level, Mode, Record, Released, ReleasedTo, Severity};
    use serde_json::{from_value, json, to_value};

    #[test]
    fn tokens_are_strings() {
        let token = FencingToken::from(u64::MAX);
        assert_eq!(to_value(token).unwrap(), json!("18446744073709551615"));
        assert_eq!(from_value::<FencingToken>(json!("7")).unwrap(), 7.into());
        assert_eq!(from_value::<FencingToken>(json!(7)).unwrap(), 7.into());
        assert!(from_value::<FencingToken>(json!("seven")).is_err());
        assert!(from_value::<FencingToken>(json!(-7)).is_err());
    }

    /// TOML has no other numbers.
    #[test]
    fn a_signed_number_is_a_token_too() {
        use serde::Deserialize;
        use serde::de::IntoDeserializer;
        use serde::de::value::{Error, I64Deserializer};
        let read = |number: i64| {
            let number: I64Deserializer<Error> = number.into_deserializer();
            FencingToken::deserialize(number)
        };
        assert_eq!(read(7).unwrap(), 7.into());
        assert!(read(-7).is_err());
    }

    #[test]
    fn names_are_checked_when_they_are_read() {
        assert_eq!(to_value(Name::new("a").unwrap()).unwrap(), json!("a"));
        assert_eq!(from_value::<Name>(json!("a")).unwrap(), Name::new("a").unwrap());
        let error = from_value::<Name>(json!("two\nlines")).unwrap_err();
        assert!(error.to_string().contains("control character"), "{error}");
    }

    #[test]
    fn enums_are_words() {
        assert_eq!(to_value(LossCause::MaxHold).unwrap(), json!("max_hold"));
        assert_eq!(to_value(ErrorKind::InvalidName).unwrap(), json!("invalid_name"));
        assert_eq!(to_value(Level::LeaseExclusive).unwrap(), json!("lease_exclusive"));
        assert_eq!(to_value(Severity::Ok).unwrap(), json!("ok"));
        assert_eq!(to_value(Released::StillHeld(2)).unwrap(), json!({"still_held": 2}));
        let permits = Mode::Permits { take: 1, of: 5 };
        assert_eq!(to_value(permits).unwrap(), json!({"permits": {"take": 1, "of": 5}}));
        assert_eq!(from_value::<Mode>(json!("shared")).unwrap(), Mode::Shared);
    }

    #[test]
    fn labels_are_the_words_that_are_written() {
        use LossCause::{Closed, Evicted, Expired, Forked, Gone, MaxHold, Released, SessionLost};
        for cause in [Expired, MaxHold, Evicted, Gone, SessionLost, Closed, Released, Forked] {
            assert_eq!(to_value(cause).unwrap(), json!(cause.as_str()));
        }
        for kind in [
            ErrorKind::InvalidName,
            ErrorKind::InvalidInput,
            ErrorKind::Misuse,
            ErrorKind::Config,
            ErrorKind::Denied,
            ErrorKind::Unavailable,
            ErrorKind::NoQuorum,
            ErrorKind::Unsupported,
            ErrorKind::ForeignKey,
            ErrorKind::LimitMismatch,
            ErrorKind::NotFound,
            ErrorKind::Upgrade,
            ErrorKind::Lost,
            ErrorKind::Protocol,
        ] {
            assert_eq!(to_value(kind).unwrap(), json!(kind.as_str()));
        }
        for mode in [Mode::Exclusive, Mode::Shared] {
            assert_eq!(to_value(mode).unwrap(), json!(mode.as_str()));
        }
        for to in [ReleasedTo::Store, ReleasedTo::Task, ReleasedTo::Ticket, ReleasedTo::Silence] {
            assert_eq!(to_value(to).unwrap(), json!(to.as_str()));
        }
    }

    #[test]
    fn losses_and_records_survive_the_journey() {
        let lost = Lost::new(Name::new("a").unwrap(), 7.into(), LossCause::Evicted);
        let written = json!({"name": "a", "token": "7", "cause": "evicted"});
        assert_eq!(to_value(&lost).unwrap(), written);
        assert_eq!(from_value::<Lost>(written).unwrap(), lost);
        let client = Client::connect("memory:").wait().unwrap();
        let guard = client.mutex("a").lock().wait().unwrap();
        let record = client.holder("a").wait().unwrap().expect("held");
        let written = to_value(&record).unwrap();
        assert_eq!(written["holders"][0]["token"], json!(guard.token().to_string()));
        assert_eq!(from_value::<Record>(written).unwrap(), record);
    }
}
