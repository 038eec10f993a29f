//! HTTP responses of the dashboard, and reasons why a request has none.

use std::borrow::Cow;
use std::sync::LazyLock;

use maud::Markup;
use portion_telemetry::read::ReadError;
use portion_text::display::hex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::query::InvalidParameter;
use crate::selection::NoRecords;

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

/// A static file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asset {
    /// Style sheet of the pages.
    Style,
    /// uPlot, the chart library.
    Plot,
    /// Style sheet of uPlot.
    PlotStyle,
    /// Script of the pages.
    Script,
    /// Icon.
    Icon,
}

impl Asset {
    const ALL: [Self; 5] = [Self::Style, Self::Plot, Self::PlotStyle, Self::Script, Self::Icon];

    /// Returns base name, extension, media type and content.
    fn parts(self) -> (&'static str, &'static str, &'static str, &'static str) {
        let (css, js) = ("text/css; charset=utf-8", "text/javascript; charset=utf-8");
        match self {
            Self::Style => ("portion", "css", css, include_str!("../assets/portion.css")),
            Self::Plot => ("uplot", "js", js, include_str!("../assets/uplot/uPlot.iife.min.js")),
            Self::PlotStyle => ("uplot", "css", css, include_str!("../assets/uplot/uPlot.min.css")),
            Self::Script => ("portion", "js", js, include_str!("../assets/portion.js")),
            Self::Icon => ("portion", "svg", "image/svg+xml", include_str!("../assets/portion.svg")),
        }
    }

    /// Returns the path: `/assets/portion.0123456789abcdef.css`.
    pub(crate) fn path(self) -> &'static str {
        static PATHS: LazyLock<[String; 5]> = LazyLock::new(|| {
            Asset::ALL.map(|asset| {
                let (name, end, _, body) = asset.parts();
                format!("/assets/{name}.{}.{end}", hex(&Sha256::digest(body)[..8]))
            })
        });
        &PATHS[self as usize]
    }

    /// Returns the file at a path.
    pub(crate) fn at(path: &str) -> Option<Answer> {
        let asset = Self::ALL.into_iter().find(|asset| asset.path() == path)?;
        let (_, _, kind, body) = asset.parts();
        Some(Answer::lasting(kind, body.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_own_path() {
        for (at, asset) in Asset::ALL.into_iter().enumerate() {
            assert_eq!(asset as usize, at);
            let answer = Asset::at(asset.path()).expect("it is there");
            assert_eq!(answer.body.as_ref(), asset.parts().3.as_bytes());
        }
        assert_eq!(Asset::at("/assets/portion.css"), None);
    }
}
