//! Tests that every text is either accepted or rejected with a position.

use portion_config::key::{Key, SettingsLevel, ValueKind};
use portion_config::settings::Origin;
use portion_config::{Config, Sources, diff, show};
use portion_core::policy::ClientLimits;
use portion_policy::endpoint::PolicySource;
use proptest::prelude::*;

use super::{file, load, loaded, tool, yaml};

fn key() -> impl Strategy<Value = &'static Key> {
    proptest::sample::select(Key::all().collect::<Vec<_>>())
}

/// Text that resembles a configuration.
fn document() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => key().prop_map(|key| key.name.to_owned()),
        4 => prop_oneof![
            Just(": "), Just("\n"), Just("\n  "), Just("{"), Just("}"), Just("["), Just("]"), Just(", "), Just("- "),
            Just("\""), Just("'"), Just("&a "), Just("*a"), Just("!!str "), Just("|\n"), Just("? "), Just("# "), Just("\t"),
            Just("---\n"), Just("<<"), Just("\u{feff}"), Just("\0"), Just("é"),
        ].prop_map(str::to_owned),
        2 => prop_oneof![Just("5000"), Just("64KiB"), Just("true"), Just("none"), Just("list_*"), Just("${X}"), Just("-1")]
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn check_errors(sources: &Sources) -> Result<(), TestCaseError> {
    if let Err(errors) = load(sources) {
        prop_assert!(!errors.0.is_empty());
        for problem in &errors.0 {
            prop_assert!(
                matches!(problem.origin, Origin::File(_, place) if place.line > 0 && place.column > 0),
                "{problem:?}"
            );
            prop_assert!(!problem.fix.is_empty());
        }
        prop_assert!(errors.0.is_sorted());
    }
    Ok(())
}

/// A value for each of some keys that are allowed at every level.
fn settings() -> impl Strategy<Value = String> {
    let keys: Vec<_> =
        Key::all().filter(|key| key.is_allowed_at(SettingsLevel::Endpoint) && key.name != "split").collect();
    let setting = (0..keys.len(), 1_000_u64..3_000, 0..3_usize, "[a-z ,.'#:{}\\[\\]*&!é\\\\\"-]{1,12}")
        .prop_map(move |(i, n, w, text)| {
            let key = keys[i];
            let text = serde_json::to_string(&format!("x{text}")).expect("JSON");
            let value = match key.kind {
                ValueKind::Integer(..) => n.to_string(),
                ValueKind::Fraction | ValueKind::Factor => "0.25".into(),
                ValueKind::Percent | ValueKind::Price => format!("{}", n as f64 / 100.0),
                ValueKind::Size(..) => (n * 5).to_string(),
                ValueKind::Boolean => (w == 0).to_string(),
                ValueKind::Choice(words) => words[w % words.len()].to_owned(),
                ValueKind::Text => text,
                ValueKind::Names => format!("[{text}, b]"),
                ValueKind::Redact => "[secrets, a.b]".into(),
                ValueKind::Sections => format!("{{{text}: [a, {text}], y: [b]}}"),
                ValueKind::Pushdown => {
                    ["page", "{offset: skip, maxFetch: 70, total: 'a: b'}", "{link: next}"][w].into()
                }
                ValueKind::Experiment => ["none", "shadow", "{split: 12.5}"][w].into(),
                _ => return None,
            };
            Some((key.slot(), format!("{}: {value}", key.name)))
        });
    proptest::collection::vec(setting, 0..8).prop_map(|settings| {
        let mut seen = std::collections::BTreeMap::new();
        seen.extend(settings.into_iter().flatten());
        format!("{{{}}}", seen.into_values().collect::<Vec<_>>().join(", "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_accepted_or_rejected_with_a_position(text in document(), json: bool) {
        check_errors(&file(if json { "a.json" } else { "a.yaml" }, &text))?;
    }

    #[test]
    fn any_bytes_are_accepted_or_rejected_with_a_position(bytes in proptest::collection::vec(any::<u8>(), 0..200), json: bool) {
        check_errors(&file(if json { "a.json" } else { "a.yaml" }, &String::from_utf8_lossy(&bytes)))?;
    }

    #[test]
    fn shown_text_reads_as_the_same_configuration(some in settings(), other in settings(), origin: bool) {
        let text = format!("endpoints: {{list_*: {some}, 'a: b': {other}}}\nupstreams: {{x: {{command: 'y z', hardCap: 30000}}}}\n");
        let variables = Key::all().filter(|key| key.name == "chunkLines").filter_map(Key::variable);
        let sources = Sources { variables: variables.map(|name| (name, "77".to_owned())).collect(), ..yaml(&text) };
        if let Ok(config) = load(&sources) {
            let shown = show(&config, origin, None);
            let again = Config::load(&yaml(&shown), 2).map_err(|errors| TestCaseError::fail(format!("{errors}\n{shown}")))?.0;
            prop_assert_eq!(diff(&config, &again), vec![], "{}", shown);
        }
    }

    #[test]
    fn the_order_of_patterns_matters_only_for_ties(a in settings(), b in settings(), c in settings()) {
        let (one, other) = (
            format!("endpoints: {{list_*: {a}, '*': {b}, list_x: {c}}}"),
            format!("endpoints: {{list_x: {c}, list_*: {a}, '*': {b}}}"),
        );
        if let (Ok(one), Ok(other)) = (load(&yaml(&one)), load(&yaml(&other))) {
            for name in ["list_x", "list_y", "z"] {
                prop_assert_eq!(format!("{:?}", one.endpoint_config(tool(name))), format!("{:?}", other.endpoint_config(tool(name))));
            }
        }
    }

    #[test]
    fn the_most_specific_pattern_wins(sizes in proptest::array::uniform4(1_usize..100), present in any::<[bool; 4]>()) {
        let patterns = ["'*'", "list_*", "list_b*", "list_bookings"];
        let rules = patterns.iter().zip(sizes).zip(present).filter(|(_, present)| *present);
        let rules: Vec<String> = rules.map(|((pattern, size), _)| format!("{pattern}: {{pageSize: {size}}}")).collect();
        let config = loaded(&yaml(&format!("endpoints: {{{}}}", rules.join(", "))));
        let expect = sizes.iter().zip(present).filter(|(_, present)| *present).map(|(size, _)| *size).next_back();
        prop_assert_eq!(config.endpoint_config(tool("list_bookings")).limits.default_page_size, expect);
    }

    #[test]
    fn limits_are_valid_for_every_endpoint(a in settings(), b in settings(), c in settings()) {
        let text = format!("endpoints: {{list_*: {a}, '*_x': {b}, '*_*': {c}}}");
        if let Ok(config) = load(&yaml(&text)) {
            for name in ["list_x", "list_y", "a_x", "z"] {
                let policy = config.endpoint_config(tool(name)).limits.resolve(ClientLimits::UNKNOWN);
                prop_assert!(policy.validate().is_ok(), "{name} {text}");
            }
        }
    }

    #[test]
    fn a_misspelled_key_gets_a_suggestion(key in key(), at: prop::sample::Index, c in "[a-z]") {
        prop_assume!(key.is_allowed_at(SettingsLevel::Top) && key.name.len() > 6);
        let mut name = key.name.to_owned();
        let at = at.index(name.len());
        name.replace_range(at..=at, &c);
        // A name that contains a whole key may be taken for that key.
        prop_assume!(!Key::all().any(|key| name.to_lowercase().contains(&key.name.to_lowercase())));
        if let Err(errors) = load(&yaml(&format!("{name}: 5"))) && !Key::all().any(|key| key.name == name) {
            let message = errors.to_string();
            prop_assert!(message.contains(&format!("did you mean `{}`?", key.name)), "{message}");
        }
    }
}
