//! Generates requests and limits.

use portion_core::policy::{FillStrategy, FirstRows, OrderStrategy, Policy, RowStyle};
use portion_core::view::Request;
use portion_json::scan::quote;
use portion_tokens::{TokenCounter, Tokenizer};

use super::choices::Dice;
use super::endpoints::known;
use super::render_options::manner;

/// Generates limits that can be kept, some only just.
pub(crate) fn policy(dice: &mut Dice) -> Policy {
    if dice.once_in(4) {
        return if dice.once_in(3) { Policy::default().lean() } else { Policy::default() };
    }
    let hard_cap = dice.pick(&[600, 601, 900, 2_000, 12_000]);
    let token_budget_threshold = dice.within(300, hard_cap);
    let reply_target = dice.within(300, token_budget_threshold);
    let policy = Policy {
        hard_cap,
        token_budget_threshold,
        reply_target,
        ranked_target: reply_target.midpoint(300),
        hard_byte_limit: dice.pick(&[4_096, 5_000, 20_000, 65_536]),
        fallback_byte_limit: 4_096,
        media_byte_limit: dice.pick(&[1_000, 5 << 20]),
        media_tokens: dice.pick(&[100, 1_600]),
        full_below: dice.pick(&[0, 100, 500]),
        default_page_size: dice.pick(&[1, 5, 50]),
        max_page_size: dice.pick(&[50, 200]),
        summarize_above: dice.pick(&[100, 500, 2_000]),
        chunk_above: dice.pick(&[100, 500, 2_000]),
        chunk_size: dice.pick(&[100, 500, 2_000]),
        chunk_lines: dice.pick(&[1, 20, 200]),
        warn_at: 0.8,
        rows: dice.aside(0, &[RowStyle::Objects, RowStyle::Auto]),
        first_rows: dice.aside(30, &[FirstRows::Page, FirstRows::Page, FirstRows::Sample]),
        strategy: dice.aside(1, &[OrderStrategy::Auto, OrderStrategy::Ranked, OrderStrategy::Plain]),
        fill: dice.aside(2, &[FillStrategy::Stop, FillStrategy::Skip, FillStrategy::Value]),
        render_options: known(dice, &manner(dice)),
    };
    policy.validate().expect("limits that can be");
    policy
}

/// Returns a counter, mostly a cheap one.
pub(crate) fn counter(dice: &mut Dice) -> &'static dyn TokenCounter {
    match dice.below(12) {
        0 => Tokenizer::Auto.counter(),
        1 => Tokenizer::O200k.counter(),
        2 => Tokenizer::Claude.counter(),
        3 => Tokenizer::Cl100k.counter(),
        _ => Tokenizer::Chars4.counter(),
    }
}

/// Generates controls that can mostly be combined.
pub(crate) fn request(dice: &mut Dice, policy: &Policy) -> Request {
    let mut request = Request::default();
    if dice.once_in(3) {
        return request;
    }
    let mut take = |name: &str, json: String| {
        let _ = request.set_control(name, &json, policy);
    };
    for _ in 0..dice.within(1, 3) {
        match dice.below(11) {
            0 | 1 => take("limit", dice.pick(&[1, 2, 7, 50, 200]).to_string()),
            2 => take(
                "fields",
                quote(dice.pick(&["all", "id", "id,price.total,notes", "col1,col0", "text,lines"])),
            ),
            3 => take("page", dice.pick(&[1, 2, 3, 900]).to_string()),
            4 => take("offset", dice.pick(&[0, 1, 17, 5_000]).to_string()),
            5 => take("maxTokens", dice.pick(&[300, 301, 450, 1_000]).min(policy.hard_cap).to_string()),
            6 => take("raw", "true".into()),
            7 => take("sort", quote(dice.pick(&["id desc", "name", "col0", "-price.total"]))),
            8 => take(
                "path",
                quote(dice.pick(&["/0", "items.1", "data.items", "/financials", "/3/notes", "rows"])),
            ),
            9 => {
                let name = dice.pick(&["financials", "Heading 3", "lines", "items", "history"]);
                take("section", quote(dice.aside(18, &[name, "money"])));
            }
            _ => {
                take("startLine", dice.pick(&["1", "5", "-10", "100"]).into());
                take("endLine", dice.pick(&["3", "-1", "9000"]).into());
            }
        }
    }
    request
}
