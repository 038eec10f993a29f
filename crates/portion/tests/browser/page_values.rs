//! Pages show the recorded values.

use portion_telemetry::timestamp::rfc3339;
use serde_json::{Value, json};

use super::sample::{DAY, MINUTE, alerted, experiment, few, now, record};
use super::{Chromium, Outcome, Portion};

/// Returns the text of each selected element, with single blanks.
async fn said(chromium: &Chromium, selector: &str) -> Outcome<Vec<String>> {
    let script = format!(
        "return [...document.querySelectorAll('{selector}')].map(it => it.innerText.replace(/\\s+/g, ' ').trim())"
    );
    Ok(serde_json::from_value(chromium.run(&script).await?)?)
}

/// Returns the sum of each row of a chart.
async fn sums(chromium: &Chromium, chart: usize) -> Outcome<Value> {
    let script = format!(
        "return portion.plots[{chart}].data.slice(1).map(row => row.reduce((sum, value) => sum + (value ?? 0), 0))"
    );
    chromium.run(&script).await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn figures_and_charts_are_of_the_records() -> Outcome<()> {
    // All of it is at the end of the last half-hour of the day before: what is drawn there is drawn whenever.
    let day = now() / DAY * DAY;
    let portion = Portion::show(|file| record(file, few(day + 9 * MINUTE)))?;
    let chromium = Chromium::start().await?;
    chromium.size(1280, 900).await?;
    let range = format!("?since={}&until={}", rfc3339(day - DAY), rfc3339(day));
    chromium.visit(&format!("{}/{range}", portion.url)).await?;
    let figures = said(&chromium, ".figures > div").await?;
    assert_eq!(
        figures[..6],
        [
            "Tokens kept out 31.0k 77.5 % of 40.0k upstream",
            "Tokens to the model 9,000 follow-ups included",
            "Requests 6 2 follow-ups",
            "Oversized 50.0 % 2 of 4 first calls",
            "Errors 1 16.7 % of requests",
            "Estimates within 20 % 75.0 % of 4 counted exactly",
        ]
    );
    // In the order in which they stand: tokens, outcomes, oversized, latency, accuracy.
    assert_eq!(sums(&chromium, 0).await?, json!([40_000, 9_000]));
    let outcomes =
        chromium.run("return portion.plots[1].series.slice(1).map(series => series.label)").await?;
    assert_eq!(outcomes, json!(["expired", "paginated"]));
    assert_eq!(sums(&chromium, 1).await?, json!([6, 5]), "bars stand behind each other");
    assert_eq!(sums(&chromium, 2).await?, json!([0.5]));
    let script = "return portion.plots.slice(2).map(plot => plot.series[1].width)";
    assert_eq!(chromium.run(script).await?, json!([0, 0, 0]), "few points are bars, not lines");
    assert_eq!(sums(&chromium, 4).await?, json!([0.75, 0.25]));
    let script = "const [, ...rows] = portion.plots[3].data; return rows.map(row => row.filter(value => value !== null))";
    let answer = "return fetch('/api/overview' + location.search).then(answer => answer.json())";
    let (latency, overview) = (chromium.run(script).await?, chromium.run(answer).await?);
    for (at, name) in ["overheadP50Ms", "overheadP95Ms", "overheadP99Ms"].into_iter().enumerate() {
        assert_eq!(latency[at], json!([overview["figures"][name]]), "{name}");
    }
    // A slot is drawn between its beginning and its end.
    let script =
        "const [{ data: [at], scales: { x } }] = portion.plots; return [x.min, at[0], at.at(-1), x.max]";
    let seconds = |micros| json!(micros / 1_000_000);
    let axis = [day - DAY, day - DAY + 15 * MINUTE, day - 15 * MINUTE, day].map(seconds);
    assert_eq!(chromium.run(script).await?, json!(axis));
    // A configuration came into force: each chart marks it.
    assert_eq!(said(&chromium, ".chart .mark").await?.len(), 5);
    let named = chromium.run("return document.querySelector('.mark').ariaLabel").await?;
    assert!(
        named.as_str().is_some_and(
            |named| named.ends_with("Configuration 3. hardCap: 12000 → 8000. /home/me/portion.yaml")
        ),
        "{named}"
    );
    assert_eq!(said(&chromium, ".endpoints tbody th").await?, ["list_bookings", "get_booking"]);
    let row = said(&chromium, ".endpoints tbody tr:first-child td").await?;
    assert_eq!(row[..7], ["4", "20.0k", "5,000", "75.0 %", "100.0 %", "1.00", "1"]);
    let standing = said(&chromium, ".standing li .what").await?;
    assert_eq!(standing, ["1 expired cursor"]);
    chromium.leave().await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn a_request_tells_what_became_of_it() -> Outcome<()> {
    let portion = Portion::show(|file| record(file, few(now())))?;
    let chromium = Chromium::start().await?;
    // From what stands out to the request that failed, to the one that it goes back to.
    chromium.visit(&format!("{}/", portion.url)).await?;
    let click = async |selector: &str| -> Outcome<()> {
        chromium.run(&format!("document.querySelector('{selector}').click()")).await?;
        let ready = "return document.readyState === 'complete'";
        while chromium.run(ready).await? != json!(true) {}
        Ok(())
    };
    click(".standing li a").await?;
    chromium.client.wait().for_element(fantoccini::Locator::Css(".requests tbody th a")).await?;
    assert_eq!(said(&chromium, ".requests tbody .outcome").await?, ["expired"]);
    click(".requests tbody th a").await?;
    chromium.client.wait().for_element(fantoccini::Locator::Css(".sizes")).await?;
    let told = said(&chromium, "#followups ~ p").await?.join(" ");
    assert!(
        told.starts_with("2 follow-ups were made, 1 failed. This one came less than a second after"),
        "{told}"
    );
    let family = said(&chromium, ".requests tbody .outcome").await?;
    assert_eq!(family, ["paginated", "paginated", "expired", "paginated"]);
    chromium.visit(&format!("{}/requests/{:032x}", portion.url, 1)).await?;
    let sizes = said(&chromium, ".sizes dd").await?;
    assert_eq!(
        sizes,
        [
            "10,000 tokens, 40.0 kB, 100 items",
            "2,000 tokens, 8,000 B, 20 items",
            "4,000 tokens · 80.0 % kept out, 8,000 tokens",
        ]
    );
    let steps = said(&chromium, ".steps li code").await?;
    assert_eq!(steps, ["dense", "condense"]);
    let facts = said(&chromium, ".facts dd").await?.join("\n");
    for fact in
        ["40 ms, 1.00 ms of it", "status", "version 3", "exactly: 2,000", "00000000000000000000000000000abc"]
    {
        assert!(facts.contains(fact), "{fact} is not in {facts}");
    }
    chromium.leave().await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn arms_alerts_and_times_are_told() -> Outcome<()> {
    let end = now();
    let portion = Portion::show(|file| {
        record(file, experiment(end).into_iter().chain([alerted(end - 2 * MINUTE, true, 0.124)]));
    })?;
    let chromium = Chromium::start().await?;
    chromium.zone("Asia/Tokyo").await?;
    chromium.visit(&format!("{}/experiments", portion.url)).await?;
    let row = said(&chromium, ".experiment tbody tr:first-child :is(th, td)").await?;
    assert_eq!(row[0], "tokens a reply");
    assert!(row[1].starts_with("2,029 ") && row[2].starts_with("10,030 "), "{row:?}");
    assert_eq!(row[4], "lower");
    chromium.visit(&format!("{}/", portion.url)).await?;
    let banner = said(&chromium, ".banner").await?.join(" ");
    assert!(banner.starts_with("Oversized attempts: 12.4 % of 210 requests in 5 minutes"), "{banner}");
    // The viewer is nine hours ahead of UTC, which stands beside.
    let script =
        "const it = document.querySelector('.banner time'); return [it.dateTime, it.textContent, it.title]";
    let time = chromium.run(script).await?;
    let of = |text: &Value, at: usize| text[at].as_str().unwrap_or_default().to_owned();
    let (utc, local) = (of(&time, 0)[11..13].parse::<u32>()?, of(&time, 1));
    let hour: u32 = local[local.len() - 8..local.len() - 6].parse()?;
    assert_eq!(hour, (utc + 9) % 24, "{time}");
    assert!(of(&time, 2).ends_with(" UTC"), "{time}");
    chromium.leave().await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn a_value_without_neighbours_is_a_point() -> Outcome<()> {
    let day = now() / DAY * DAY;
    // Fewer would be bars.
    let apart = (0..8).rev().flat_map(|number| few(day - number * 120 * MINUTE));
    let portion = Portion::show(|file| record(file, apart))?;
    let chromium = Chromium::start().await?;
    chromium.size(1280, 900).await?;
    chromium.visit(&format!("{}/?since={}&until={}", portion.url, rfc3339(day - DAY), rfc3339(day))).await?;
    // Whether its colour is around a place of a chart, in pixels.
    let script = |chart: usize, row: usize| {
        format!(
            "const plot = portion.plots[{chart}], [at, values] = [plot.data[0], plot.data[{row}]];
             const named = document.createElement('canvas').getContext('2d');
             named.fillStyle = plot.series[{row}].stroke();
             const colour = [1, 3, 5].map(from => parseInt(named.fillStyle.slice(from, from + 2), 16));
             const around = (x, y) => {{
                 const {{ data }} = plot.ctx.getImageData(plot.valToPos(x, 'x', true) - 4, plot.valToPos(y, 'y', true) - 4, 9, 9);
                 let found = 0;
                 for (let at = 0; at < data.length; at += 4) found += colour.every((part, of) => Math.abs(part - data[at + of]) < 40);
                 return found > 0;
             }};
             const slots = values.flatMap((value, slot) => (value == null ? [] : [slot]));
             const between = [at[slots[0]], at[slots[1]]].reduce((sum, at) => sum + at) / 2;
             return [...slots.map(slot => around(at[slot], values[slot])), around(between, values[slots[0]])]"
        )
    };
    for (chart, row) in [(2, 1), (3, 1), (3, 3), (4, 1), (4, 2)] {
        let drawn = chromium.run(&script(chart, row)).await?;
        let expect: Vec<bool> = (0..9).map(|place| place < 8).collect();
        assert_eq!(drawn, json!(expect), "row {row} of chart {chart}");
    }
    chromium.leave().await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn times_are_typed_where_the_viewer_is() -> Outcome<()> {
    let portion = Portion::show(|file| record(file, few(now())))?;
    let chromium = Chromium::start().await?;
    chromium.zone("Asia/Tokyo").await?;
    for width in [320, 400, 1280] {
        chromium.size(width, 900).await?;
        let range = "since=2026-11-21T22:00&until=2026-11-22T01:00:05.000001Z&outcome=expired";
        chromium.visit(&format!("{}/requests?{range}", portion.url)).await?;
        let script = "document.querySelector('.custom').open = true;
                      const seen = it => { const { left, right } = it.getBoundingClientRect(); return left >= 0 && right <= innerWidth; };
                      const [label, form] = document.querySelectorAll('.custom > *');
                      const below = form.getBoundingClientRect().top >= label.getBoundingClientRect().bottom - 4;
                      return [below && [...form.querySelectorAll('*')].every(seen),
                              ...[...document.querySelectorAll('.custom form input:not([type=hidden])')].map(it => it.value)]";
        let shown = chromium.run(script).await?;
        assert_eq!(shown, json!([true, "2026-11-22 07:00", "2026-11-22 10:00:05"]), "{width}");
    }
    // What is not typed over is sent as it was.
    let sent = async |since: &str, until: &str| -> Outcome<Value> {
        let script = format!(
            "const form = document.querySelector('.custom form'), {{ elements }} = form;
             const types = (input, text) => {{ if (text) input.value = text; }};
             types(elements.since, '{since}');
             types(elements.until, '{until}');
             return [...new FormData(form)].map(([name, value]) => `${{name}}=${{value}}`).join('&')"
        );
        chromium.run(&script).await
    };
    let kept = "outcome=expired";
    assert_eq!(
        sent("", "").await?,
        json!(format!("{kept}&since=2026-11-21T22:00&until=2026-11-22T01:00:05.000001Z"))
    );
    assert_eq!(
        sent("2026-11-22", "2026-11-22 09:30").await?,
        json!(format!("{kept}&since=2026-11-21T15:00:00Z&until=2026-11-22T00:30:00Z"))
    );
    assert_eq!(
        sent("90m", "2026-11-22T09:30Z").await?,
        json!(format!("{kept}&since=90m&until=2026-11-22T09:30Z"))
    );
    let today = chromium
        .run("const at = new Date(); at.setHours(9, 30, 0, 0); return at.toISOString().slice(0, 19) + 'Z'")
        .await?;
    let typed = sent("09:30", "soon").await?;
    assert_eq!(typed, json!(format!("{kept}&since={}&until=soon", today.as_str().unwrap_or_default())));
    // The form does send that.
    sent("2026-11-22 09:00", "2026-11-22 09:30").await?;
    chromium.run("document.querySelector('.custom form button').click()").await?;
    let url = "return location.search";
    for _ in 0..100 {
        if chromium.run(url).await?.to_string().contains("00%3A30") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let expect = "?outcome=expired&since=2026-11-22T00%3A00%3A00Z&until=2026-11-22T00%3A30%3A00Z";
    assert_eq!(chromium.run(url).await?, json!(expect));
    chromium.leave().await
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn what_is_new_comes_in_and_the_focus_stays() -> Outcome<()> {
    let portion = Portion::show(|file| record(file, few(now())))?;
    let chromium = Chromium::start().await?;
    chromium.visit(&format!("{}/", portion.url)).await?;
    chromium.run("document.querySelector('.endpoints thead a').focus()").await?;
    record(&portion.file, few(now()));
    // What its clock does every ten seconds.
    let script = "const kept = document.activeElement;
                  return refresh().then(() => [document.querySelector('.figures dd').textContent,
                      portion.plots[0].data[1].reduce((sum, tokens) => sum + tokens), document.activeElement === kept])";
    assert_eq!(chromium.run(script).await?, json!(["62.0k", 80_000, true]));
    // Where one is in a chart stays, too.
    let script = "const place = document.querySelector('.plot');
                  const left = () => place.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }));
                  place.focus();
                  left(), left();
                  return refresh().then(() => (left(), portion.plotted.at.length - place.ariaValueNow))";
    assert_eq!(chromium.run(script).await?, json!(4));
    // Without an answer, that is said until there is one.
    let script = "return update(document.querySelector('.live output')).then(() => document.querySelector('.live output').value)";
    assert_eq!(chromium.run(script).await?, json!(""));
    drop(portion);
    let said = chromium.run(script).await?;
    assert!(said.as_str().is_some_and(|said| said.starts_with("no answer since ")), "{said}");
    chromium.leave().await
}
