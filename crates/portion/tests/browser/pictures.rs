//! Pictures of every page, kept in `target/screenshots`; the first of them is in the README.

use std::path::PathBuf;

use super::{Chromium, Outcome, Portion, everything, sample};

#[tokio::test]
#[ignore = "needs Chromium"]
async fn pictures_are_taken() -> Outcome<()> {
    let chromium = Chromium::start().await?;
    let (portion, pages) = everything(&chromium).await?;
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    std::fs::create_dir_all(&folder)?;
    for scheme in ["light", "dark"] {
        chromium.scheme(scheme).await?;
        for width in [1280, 800, 400] {
            chromium.size(width, 900).await?;
            for (name, path) in &pages {
                chromium.visit(&format!("{}{path}", portion.url)).await?;
                chromium.picture(&folder.join(format!("{name}-{width}-{scheme}.png")), true).await?;
            }
        }
    }
    let portion = Portion::show(|file| sample::record(file, sample::day(sample::now(), 2_600)))?;
    chromium.scheme("light").await?;
    chromium.size(1280, 960).await?;
    chromium.visit(&format!("{}/", portion.url)).await?;
    chromium.picture(&folder.join("dashboard.png"), false).await?;
    chromium.leave().await
}
