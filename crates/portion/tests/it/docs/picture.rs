//! The picture of the README: what `portion demo` measures, drawn as SVG for light and dark pages.

use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

use super::{Outcome, check, hermetic, page};

/// Width of the picture, in pixels; also the end of the longest bar.
const WIDTH: f64 = 860.0;
/// Tokens of the context window that the picture marks.
const WINDOW: f64 = 200_000.0;

/// Colours and fonts. The media query follows the theme of the page, also inside an `<img>`.
const STYLE: &str = "
  text { font: 14px ui-sans-serif, system-ui, 'Segoe UI', Roboto, sans-serif; fill: #1f2328 }
  .code { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
  .faint { fill: #59636e }
  .figure { font-weight: 600 }
  .direct { fill: #d1242f } .portion { fill: #1a7f37 } .window { stroke: #59636e; stroke-dasharray: 4 4 }
  .card { fill: #f6f8fa; stroke: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .faint { fill: #9198a1 } .window { stroke: #9198a1 }
    .direct { fill: #f85149 } .portion { fill: #3fb950 } .card { fill: #151b23; stroke: #3d444d }
  }";

/// One call, directly and through Portion.
struct Row {
    call: String,
    units: String,
    direct: u64,
    first: u64,
}

impl Row {
    fn new(part: &Value) -> Result<Self, Box<dyn Error>> {
        let number = |at: &str| part.pointer(at).and_then(Value::as_u64).ok_or_else(|| format!("no {at}"));
        let units = part["proof"]["unitsAre"].as_str().ok_or("no units")?;
        Ok(Self {
            call: format!("{}()", part["tool"].as_str().ok_or("no tool")?),
            units: format!("{} {units}", grouped(number("/proof/units")?)),
            direct: number("/directly/tokens")?,
            first: rounded(number("/first/tokens")?),
        })
    }
}

/// Rounds up to two digits: cursors are random, and cost a few tokens more or less.
fn rounded(number: u64) -> u64 {
    number.next_multiple_of((10_u64.pow(number.max(1).ilog10()) / 10).max(1))
}

/// Writes a number with separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn draw(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let max = rows.iter().map(|row| row.direct).max().unwrap_or(1) as f64;
    let scale = (WIDTH - 40.0) / max;
    let height = 50 + 120 * rows.len();
    let label = "Tokens of three calls, directly and through Portion";
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">"
    )?;
    writeln!(svg, "<style>{STYLE}\n</style>")?;
    writeln!(
        svg,
        "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>",
        WIDTH - 1.0,
        height - 1
    )?;
    let end_of_window = 20.0 + WINDOW * scale;
    writeln!(
        svg,
        "<text class=\"faint\" x=\"{:.0}\" y=\"28\">context window: 200,000 tokens</text>",
        end_of_window + 6.0
    )?;
    writeln!(
        svg,
        "<line class=\"window\" x1=\"{end_of_window:.0}\" x2=\"{end_of_window:.0}\" y1=\"14\" y2=\"{}\"/>",
        height - 14
    )?;
    for (place, row) in rows.iter().enumerate() {
        let top = 60 + 120 * place;
        let bar = |class: &str, tokens: u64, below: usize| {
            let width = (tokens as f64 * scale).max(3.0);
            format!(
                "<rect class=\"{class}\" x=\"20\" y=\"{}\" width=\"{width:.0}\" height=\"14\" rx=\"2\"/>",
                top + below
            )
        };
        writeln!(
            svg,
            "<text x=\"20\" y=\"{top}\"><tspan class=\"code\">{}</tspan><tspan class=\"faint\">, {}</tspan></text>",
            row.call, row.units
        )?;
        writeln!(svg, "{}", bar("direct", row.direct, 10))?;
        writeln!(
            svg,
            "<text x=\"20\" y=\"{}\">directly <tspan class=\"figure\">{}</tspan> tokens</text>",
            top + 40,
            grouped(row.direct)
        )?;
        writeln!(svg, "{}", bar("portion", row.first, 50))?;
        writeln!(
            svg,
            "<text x=\"20\" y=\"{}\">through Portion <tspan class=\"figure\">{}</tspan> tokens</text>",
            top + 80,
            grouped(row.first)
        )?;
    }
    writeln!(svg, "</svg>")?;
    Ok(svg)
}

#[test]
fn the_picture_is_what_the_demo_measures() -> Outcome {
    let home = tempfile::tempdir()?;
    let mut demo = hermetic(env!("CARGO_BIN_EXE_portion"));
    let output = demo.args(["demo", "--json"]).env("HOME", home.path()).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let rows = [Row::new(&report["list"])?, Row::new(&report["log"])?, Row::new(&report["bookings"])?];
    let readme = page("README.md")?;
    for figure in rows.iter().flat_map(|row| [row.direct, row.first]).map(grouped) {
        assert!(readme.contains(&figure), "README.md does not say {figure}");
    }
    check("docs/demo.svg", &draw(&rows)?)
}

#[test]
fn numbers_are_rounded_and_grouped() {
    let check = |number: u64, expect: &str| assert_eq!(grouped(rounded(number)), expect, "{number}");
    check(2_113, "2,200");
    check(1_683, "1,700");
    check(7, "7");
    check(995_000, "1,000,000");
}
