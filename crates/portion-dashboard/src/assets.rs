//! Static files of the pages. Each path contains a hash of the content, so browsers may cache it forever.

use std::sync::LazyLock;

use portion_text::display::hex;
use sha2::{Digest as _, Sha256};

use crate::answer::Answer;

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
