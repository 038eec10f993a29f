//! The dashboard in a real Chromium: what is drawn is what was recorded, at any width, for anybody.
//!
//! These need `chromium` and `chromedriver`, and axe-core of `tests/e2e`. `./test` runs them, and so does
//! `cargo test -p portion --test browser -- --ignored --test-threads 1`.

mod chromium;
mod everywhere;
mod keys;
mod page_values;
mod pictures;
mod portion;
mod sample;

use chromium::Chromium;
use portion::Portion;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A day of requests and an experiment, and the paths of every kind of page of it.
async fn everything(chromium: &Chromium) -> Outcome<(Portion, Vec<(&'static str, String)>)> {
    let portion = Portion::show(|file| {
        let end = sample::now();
        sample::record(
            file,
            sample::day(end, 1_500).into_iter().chain(sample::experiment(end)).chain(sample::named(end)),
        );
    })?;
    let href = async |path: &str, link: &str| -> Outcome<String> {
        chromium.visit(&format!("{}{path}", portion.url)).await?;
        let href =
            chromium.run(&format!("return document.querySelector('{link}').getAttribute('href')")).await?;
        Ok(href.as_str().ok_or("a link leads somewhere")?.to_owned())
    };
    let request = href("/requests?endpoint=stays/*&outcome=expired&limit=1", ".requests tbody th a").await?;
    let long = href("/requests?endpoint=long_*&limit=1", ".requests tbody th a").await?;
    let session = href(&request, ".facts a[href^=\"/sessions\"]").await?;
    let pages = vec![
        ("overview", "/".to_owned()),
        ("endpoint", "/endpoints/tool/stays/list_bookings".to_owned()),
        ("requests", "/requests?outcome=expired".to_owned()),
        ("request", request),
        ("long", long),
        ("unnamed", "/requests?kind=tool".to_owned()),
        ("sessions", "/sessions".to_owned()),
        ("session", session),
        ("experiments", "/experiments".to_owned()),
        ("changes", "/changes".to_owned()),
        ("quiet", "/?since=2000-01-01&until=2000-01-02".to_owned()),
        ("wrong", "/?since=soon".to_owned()),
        ("unknown", "/nowhere".to_owned()),
    ];
    Ok((portion, pages))
}
