//! HTTP responses of the dashboard, and reasons why a request has none.

use std::borrow::Cow;

use maud::Markup;
use portion_telemetry::read::ReadError;
use serde_json::Value;

use crate::query::InvalidParameter;
use crate::records::NoRecords;

/// Content security policy: same-origin resources only, no inline code, no framing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Parts of an HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header fields, with names in lower case.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: Cow<'static, [u8]>,
}

impl Answer {
    /// Creates an HTML page.
    pub(crate) fn page(status: u16, page: Markup) -> Self {
        Self::new(status, "text/html; charset=utf-8", "no-store", page.into_string().into_bytes())
    }

    /// Creates a JSON document.
    pub(crate) fn json(status: u16, json: &Value) -> Self {
        Self::new(status, "application/json", "no-store", format!("{json}\n").into_bytes())
    }

    /// Creates a file of records that browsers save.
    pub(crate) fn csv(text: String) -> Self {
        let mut answer = Self::new(200, "text/csv; charset=utf-8", "no-store", text.into_bytes());
        answer.headers.push(("content-disposition", "attachment; filename=\"portion-requests.csv\""));
        answer
    }

    /// Creates a response that browsers may cache forever, because its path contains its hash.
    pub(crate) fn lasting(kind: &'static str, body: &'static [u8]) -> Self {
        Self::new(200, kind, "public, max-age=31536000, immutable", body)
    }

    fn new(
        status: u16,
        kind: &'static str,
        caching: &'static str,
        body: impl Into<Cow<'static, [u8]>>,
    ) -> Self {
        let headers = vec![
            ("content-type", kind),
            ("cache-control", caching),
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
        ];
        Self { status, headers, body: body.into() }
    }
}

/// Result of a request.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Reason why a request has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A parameter is invalid.
    Invalid(InvalidParameter),
    /// The path does not exist.
    NotFound(&'static str),
    /// There are no records.
    NoRecords(NoRecords),
}

impl From<InvalidParameter> for Failure {
    fn from(error: InvalidParameter) -> Self {
        Self::Invalid(error)
    }
}

impl From<NoRecords> for Failure {
    fn from(nothing: NoRecords) -> Self {
        Self::NoRecords(nothing)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::NoRecords(error.into())
    }
}
