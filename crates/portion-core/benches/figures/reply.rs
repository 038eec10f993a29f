//! Makes replies without timing them, so that a profiler can count their instructions: `tools/reply_instructions.py`.

use std::hint::black_box;

use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::follow_up_reply;
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};

use crate::follow::{first_page, with_context};
use crate::samples::{log, orders, payload, schools};

const BYTES: usize = 20 << 10;

/// Makes this many replies of a kind: `list`, `wide` (of many fields), `log`, `structured`, or `page` for pages of a list of 12 MB.
pub(crate) fn make(kind: &str, count: usize) {
    let make = |new: &dyn Fn() -> Payload| {
        for _ in 0..count {
            black_box(first_page(&capture(new())));
        }
    };
    match kind {
        "list" => {
            let text = orders(BYTES);
            make(&|| payload(text.clone()));
        }
        "wide" => {
            let text = schools(BYTES);
            make(&|| payload(text.clone()));
        }
        "log" => {
            let text = log(BYTES);
            make(&|| payload(text.clone()));
        }
        "structured" => {
            let list = orders(BYTES);
            let text = format!("{{\"orders\":{list}}}");
            let blocks = || {
                vec![
                    Block::new("/content/0/text", Content::Text(text.clone())),
                    Block::new("/structuredContent", Content::Structured(text.clone())),
                ]
            };
            make(&|| Payload { blocks: blocks(), ..Payload::default() });
        }
        _ => {
            let (snapshot, policy) = (capture(payload(schools(12 << 20))), Policy::default());
            for at in 0..count {
                let offset = Some(50 * at as u32 % 8_000);
                if let Ok(resolved) =
                    resolve(&snapshot, None, &Request { offset, ..Request::default() }, &policy)
                {
                    black_box(with_context(&policy, |cx| follow_up_reply(&snapshot, &resolved, cx)));
                }
            }
        }
    }
}
