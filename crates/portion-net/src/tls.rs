//! TLS with the system's root certificates.

use std::error::Error;
use std::io;

use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;

/// Reason that TLS cannot be set up.
#[derive(Debug, Error)]
pub enum TlsError {
    /// No root certificate was found. The text says why.
    #[error("no certificate authorities were found: {0}; install ca-certificates or set SSL_CERT_FILE")]
    NoRoots(String),
    /// The cryptographic provider refused the configuration.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// Returns true if a cause of an error is that the certificate of a server is not valid.
pub fn is_certificate_error(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        if matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        next = match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            // The source of an IO error is that of its inner error.
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    false
}

/// Returns the configuration of a TLS client. Root certificates are loaded only if `is_secure` is set, because
/// loading them takes time and can fail. Without them every connection with TLS is refused.
///
/// # Errors
/// Returns [`TlsError`] if `is_secure` is set and there are no root certificates.
pub fn client_config(is_secure: bool) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    if is_secure {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let reason = found.errors.first().map_or("none is installed".to_owned(), ToString::to_string);
            return Err(TlsError::NoRoots(reason));
        }
    }
    let provider = rustls::crypto::ring::default_provider();
    Ok(ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError::Expired;

    use super::*;

    #[test]
    fn a_certificate_error_is_found_within_io_errors() {
        let invalid = rustls::Error::InvalidCertificate(Expired);
        assert!(is_certificate_error(&invalid));
        let io_error = io::Error::other(invalid);
        assert!(is_certificate_error(&io_error));
        assert!(is_certificate_error(&io::Error::other(io_error)));
        assert!(!is_certificate_error(&rustls::Error::DecryptError));
        assert!(!is_certificate_error(&io::Error::other("invalid peer certificate")));
    }
}
