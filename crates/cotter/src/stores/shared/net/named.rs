//! A server whose own certificate is in the file of `ca=`: the usual one that is signed by itself, and says that it is an authority.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// Accepts what the authorities have signed, and these certificates themselves.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) authorities: Arc<WebPkiServerVerifier>,
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let is_named = || self.certificates.iter().any(|named| named == end_entity);
        match verified {
            Err(refused) if is_named() => {
                // What has no names, as in version 1, cannot be checked for one.
                let Ok(parsed) = ParsedCertificate::try_from(end_entity) else { return Err(refused) };
                verify_server_name(&parsed, server_name)?;
                is_valid_at(end_entity, now)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

fn is_valid_at(certificate: &[u8], now: UnixTime) -> Result<(), Error> {
    let Some((begin, end)) = validity(certificate) else { return Err(CertificateError::BadEncoding.into()) };
    match i64::try_from(now.as_secs()).unwrap_or(i64::MAX) {
        now if now < begin => Err(CertificateError::NotValidYet.into()),
        now if now > end => Err(CertificateError::Expired.into()),
        _ => Ok(()),
    }
}

const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// The seconds since 1970 between which a certificate is valid.
fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    if fields.first() == Some(&VERSION) {
        fields = element(fields)?.2;
    }
    // Its number, the kind of its signature, and who has signed it.
    for _ in 0..3 {
        fields = element(fields)?.2;
    }
    let (_, validity, _) = element(fields)?;
    let (kind, begin, rest) = element(validity)?;
    let begin = seconds(kind, begin)?;
    let (kind, end, _) = element(rest)?;
    Some((begin, seconds(kind, end)?))
}

/// The kind and the contents of the first element of DER, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[kind, short], rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((kind, contents, rest))
}

/// `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` from then on.
fn seconds(kind: u8, text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, at) = match kind {
        UTC_TIME => (number(0, 2).map(|year| if year < 50 { 2000 + year } else { 1900 + year })?, 2),
        GENERALIZED_TIME => (number(0, 4)?, 4),
        _ => return None,
    };
    let part = |n: usize| number(at + 2 * n, at + 2 * n + 2);
    let (month, day) = (part(0)?, part(1)?);
    // Days since 1970, of a year that begins in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = days + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(days * 86_400 + part(2)? * 3600 + part(3)? * 60 + part(4)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (kind, text, expected) in [
            (UTC_TIME, "700101000000Z", 0),
            (UTC_TIME, "240229120000Z", 1_709_208_000),
            (UTC_TIME, "491231235959Z", 2_524_607_999),
            (GENERALIZED_TIME, "20500101000000Z", 2_524_608_000),
            (GENERALIZED_TIME, "20991231235959Z", 4_102_444_799),
        ] {
            assert_eq!(seconds(kind, text.as_bytes()), Some(expected), "{text}");
        }
        for (kind, text) in [(UTC_TIME, "700101"), (UTC_TIME, "7001010000+1Z"), (4, "700101000000Z")] {
            assert_eq!(seconds(kind, text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_valid_never() {
        for bad in [&[][..], &[0x30], &[0x30, 0x85, 1, 1, 1, 1, 1], &[0x30, 3, 1, 2], &[0x30, 2, 0x30, 0]] {
            assert_eq!(validity(bad), None, "{bad:?}");
        }
    }
}
