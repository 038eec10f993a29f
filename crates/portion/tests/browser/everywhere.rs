//! Properties of every page.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Chromium, Outcome, Portion, everything};

#[tokio::test]
#[ignore = "needs Chromium"]
async fn nothing_complains_and_nothing_is_asked_elsewhere() -> Outcome<()> {
    let chromium = Chromium::start().await?;
    let (portion, pages) = everything(&chromium).await?;
    let empty = Portion::show(|_| ())?;
    let all = pages.iter().map(|(name, path)| (*name, format!("{}{path}", portion.url)));
    for (name, url) in all.chain([("empty", format!("{}/", empty.url))]) {
        chromium.said().await?;
        chromium.visit(&url).await?;
        let script = "return performance.getEntriesByType('resource').map(it => it.name)
                          .filter(url => new URL(url).origin !== location.origin)";
        assert_eq!(chromium.run(script).await?, json!([]), "{name} asks elsewhere");
        let mut complaints = chromium.said().await?.as_array().cloned().unwrap_or_default();
        // A page that is not there, or cannot be, says so, and so does the browser.
        let told = |line: &Value, status: &str| line["message"].to_string().contains(status);
        complaints
            .retain(|line| !(name == "unknown" && told(line, "404") || name == "wrong" && told(line, "400")));
        assert_eq!(complaints, Vec::<Value>::new(), "{name}");
    }
    // What the policy forbids is forbidden, and would be seen above.
    chromium
        .run("document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.2/x.png' }))")
        .await?;
    let complaints = chromium.said().await?.to_string();
    assert!(complaints.contains("Content Security Policy"), "{complaints}");
    chromium.leave().await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn no_page_scrolls_sideways() -> Outcome<()> {
    let chromium = Chromium::start().await?;
    let (portion, pages) = everything(&chromium).await?;
    for (name, path) in &pages {
        for width in [320, 400, 800, 1280, 1920] {
            chromium.size(width, 900).await?;
            chromium.visit(&format!("{}{path}", portion.url)).await?;
            let script = "const page = document.documentElement;
                          const wide = [...document.querySelectorAll('main *')].filter(it =>
                              it.getBoundingClientRect().right > innerWidth + 1 && !it.closest('.scroll'));
                          // Nor does a table where there is room for one.
                          wide.push(...[...document.querySelectorAll('.scroll:has(> :is(.requests, .sessions, .endpoints))')].filter(it =>
                              (innerWidth <= 900 || innerWidth >= 1280) && it.scrollWidth > it.clientWidth));
                          // A card shows all of its text.
                          wide.push(...[...document.querySelectorAll('.figures > div, .figures dt, .figures dd')].filter(it =>
                              it.scrollWidth > it.clientWidth + 1));
                          return [page.scrollWidth - page.clientWidth, wide.slice(0, 3).map(it => it.outerHTML.slice(0, 90))]";
            let found = chromium.run(script).await?;
            assert_eq!(found, json!([0, []]), "{name} at {width}");
        }
    }
    chromium.leave().await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn axe_finds_nothing_serious() -> Outcome<()> {
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/e2e/node_modules/axe-core/axe.min.js");
    let axe =
        std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}; run ./test", file.display()))?;
    let chromium = Chromium::start().await?;
    let (portion, pages) = everything(&chromium).await?;
    let script = "const done = arguments[0];
                  axe.run().then(found => done(found.violations
                      .filter(it => ['serious', 'critical'].includes(it.impact))
                      .map(it => [it.id, it.help, it.nodes.slice(0, 3).map(node => node.html.slice(0, 160))])))";
    for scheme in ["light", "dark"] {
        chromium.scheme(scheme).await?;
        for width in [400, 1280] {
            chromium.size(width, 900).await?;
            for (name, path) in &pages {
                chromium.visit(&format!("{}{path}", portion.url)).await?;
                chromium.run(&axe).await?;
                assert_eq!(chromium.run_async(script).await?, json!([]), "{name}, {scheme}, {width} px");
            }
        }
    }
    chromium.leave().await
}
