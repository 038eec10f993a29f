//! Routes paths to pages, API calls and static files.

use std::sync::LazyLock;
use std::time::SystemTime;

use portion_text::display::hex;
use sha2::{Digest as _, Sha256};

use crate::answer::Answer;
use crate::query::Query;
use crate::records::Records;
use crate::{api, page};

/// The dashboard of a telemetry file.
#[derive(Clone, Debug)]
pub struct Site {
    records: Records,
    /// Price of a million input tokens, in US dollars.
    token_price: Option<f64>,
}

impl Site {
    /// Creates the dashboard of these records.
    pub fn new(records: Records) -> Self {
        Self { records, token_price: None }
    }

    /// Sets the price of a million input tokens, in US dollars. The pages show what the tokens cost.
    #[must_use]
    pub fn with_token_price(self, token_price: Option<f64>) -> Self {
        Self { token_price, ..self }
    }

    /// Answers a path; `query` is the part after the question mark. `lost` is the number of records known to be lost.
    /// Blocks while it reads the file.
    pub fn answer(&self, path: &str, query: Option<&str>, lost: Option<u64>, now: SystemTime) -> Answer {
        if let Some(asset) = Asset::at(path) {
            return asset;
        }
        let query = Query::read(query);
        match path.strip_prefix("/api/") {
            Some(path) => api::answer(&self.records, path, &query, now),
            None => page::answer(&self.records, path, &query, self.token_price, lost, now),
        }
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
