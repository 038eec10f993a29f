//! Everything can be reached by keys.

use fantoccini::key::Key;
use serde_json::json;

use super::{Chromium, Outcome, everything};

/// Keys of a page until something has the focus, at most.
const FAR: usize = 120;

async fn press(chromium: &Chromium, key: Key) -> Outcome<()> {
    let focused = chromium.client.active_element().await?;
    Ok(focused.send_keys(&char::from(key).to_string()).await?)
}

/// Goes on by Tab until what is selected has the focus, and sees that one sees it.
async fn reach(chromium: &Chromium, selector: &str) -> Outcome<()> {
    for _ in 0..FAR {
        press(chromium, Key::Tab).await?;
        if chromium.run(&format!("return document.activeElement.matches('{selector}')")).await? == json!(true)
        {
            let seen = "return getComputedStyle(document.activeElement).outlineStyle !== 'none'";
            assert_eq!(chromium.run(seen).await?, json!(true), "{selector} shows its focus");
            return Ok(());
        }
    }
    Err(format!("{selector} is not reached").into())
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn keys_lead_from_the_top_to_a_request() -> Outcome<()> {
    let chromium = Chromium::start().await?;
    let (portion, _) = everything(&chromium).await?;
    chromium.size(1280, 900).await?;
    chromium.visit(&format!("{}/", portion.url)).await?;
    press(&chromium, Key::Tab).await?;
    let script =
        "const it = document.activeElement; return [it.className, it.getBoundingClientRect().top >= 0]";
    assert_eq!(chromium.run(script).await?, json!(["skip", true]), "the first is the way to the content");
    press(&chromium, Key::Enter).await?;
    assert_eq!(chromium.run("return document.activeElement.id").await?, json!("content"));

    reach(&chromium, ".mark").await?;
    assert_eq!(
        chromium.run("return document.querySelector('.tip:not([hidden])') !== null").await?,
        json!(true)
    );
    reach(&chromium, ".plot").await?;
    let before = chromium.run("return document.activeElement.ariaValueText").await?;
    press(&chromium, Key::Left).await?;
    let after = chromium.run("return document.activeElement.ariaValueText").await?;
    assert_ne!(before, after, "arrows go through time");

    reach(&chromium, ".endpoints thead a[href*=\"sort=errors\"]").await?;
    press(&chromium, Key::Enter).await?;
    chromium
        .client
        .wait()
        .for_element(fantoccini::Locator::Css("th[aria-sort] a[href*=\"sort=errors\"]"))
        .await?;
    let script = "return [...document.querySelectorAll('.endpoints tbody td:nth-child(8)')].map(it => +it.textContent)";
    let errors: Vec<u64> = serde_json::from_value(chromium.run(script).await?)?;
    assert!(errors.is_sorted_by(|one, other| one >= other) && errors[0] > 0, "{errors:?}");

    chromium.visit(&format!("{}/requests", portion.url)).await?;
    reach(&chromium, ".requests tbody th a").await?;
    press(&chromium, Key::Enter).await?;
    chromium.client.wait().for_element(fantoccini::Locator::Css(".sizes")).await?;
    chromium.leave().await
}
