//! Parsing of `traceparent`.

use portion_core::event::{PARENT_ID_RANGE, TraceParent, format_span_id};
use proptest::prelude::*;

fn written(parent: TraceParent, flags: u8) -> String {
    format!("00-{:032x}-{}-{flags:02x}", parent.id, format_span_id(parent.span))
}

prop_compose! {
    fn parents()(id in 1u128.., span in 1u64.., flags: u8) -> (TraceParent, u8) {
        (TraceParent { id, span, is_sampled: flags & 1 == 1 }, flags)
    }
}

proptest! {
    #[test]
    fn written_parents_parse((parent, flags) in parents()) {
        prop_assert_eq!(TraceParent::parse(&written(parent, flags)), Some(parent));
    }

    #[test]
    fn replacing_the_span_changes_nothing_else((parent, flags) in parents(), span in 1u64..) {
        let mut text = written(parent, flags);
        text.replace_range(PARENT_ID_RANGE, &format_span_id(span));
        prop_assert_eq!(&text, &written(TraceParent { span, ..parent }, flags));
        let trace = parent.child(span);
        prop_assert_eq!((trace.id, trace.parent, trace.span), (parent.id, parent.span, span));
    }

    /// Changes a few characters: the result must be refused unless it is valid.
    #[test]
    fn only_valid_text_parses((parent, flags) in parents(), at in 0..55usize, put in "[\\PC\n]{0,2}") {
        let mut text = written(parent, flags);
        text.replace_range(at..=at, &put);
        if let Some(read) = TraceParent::parse(&text) {
            let flags = u8::from_str_radix(&text[53..], 16).expect("they were read");
            prop_assert_eq!(&text[2..], &written(read, flags)[2..], "the version may be another one");
        }
    }

    #[test]
    fn any_text_is_handled(text in "(?s)[0-9a-fA-F-]{0,60}|.{0,60}") {
        if let Some(read) = TraceParent::parse(&text) {
            prop_assert!(read.id != 0 && read.span != 0 && text.len() >= 55);
        }
    }
}

#[test]
fn invalid_parents() {
    let (id, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let check =
        |text: String, expect: bool| assert_eq!(TraceParent::parse(&text).is_some(), expect, "{text}");
    check(format!("00-{id}-{span}-01"), true);
    check(format!("00-{id}-{span}-03"), true);
    check(format!("00-{id}-{span}-1"), false);
    check(format!("00-{id}-{span}-01-"), false);
    check(format!("01-{id}-{span}-01"), true);
    check(format!("cc-{id}-{span}-01-what-comes-one-day"), true);
    check(format!("cc-{id}-{span}-01."), false);
    check(format!("1-{id}-{span}-01"), false);
    check(format!("ff-{id}-{span}-01"), false);
    check(format!("00-{}-{span}-01", id.to_uppercase()), false);
    check(format!("00-{}-{span}-01", "0".repeat(32)), false);
    check(format!("00-{id}-{}-01", "0".repeat(16)), false);
    check(format!("00-+{}-{span}-01", &id[1..]), false);
    check(String::new(), false);
}
