//! Tests the output of `config show`.

use portion_config::{show, show_json};
use serde_json::json;

use super::{loaded, tool, with_options, with_variables, yaml};

#[test]
fn each_value_names_its_origin() {
    let text = "hardCap: 6000\nendpoints:\n  list_*:\n    pageSize: 20\n";
    let sources = with_variables(yaml(text), &[("PORTION_ROWS", "auto")]);
    let config = loaded(&with_options(sources, &[("lean", ""), ("warnAt", "0.5")]));
    let shown = show(&config, true, None);
    for line in [
        "profile: lean                            # --lean",
        "hardCap: 6000                            # portion.yaml:1:1",
        "# replyTarget: 1200                      # profile lean",
        "# tokenBudgetThreshold: 4000             # default",
        "# redact: secrets                        # profile lean",
        "rows: auto                               # PORTION_ROWS",
        "warnAt: 0.5                              # --warn-at",
        "    pageSize: 20                         # portion.yaml:4:5",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    let shown = show(&config, true, tool("list_x"));
    assert!(shown.contains("\npageSize: 20                             # portion.yaml:4:5"), "{shown}");
    assert!(!shown.contains("endpoints"), "{shown}");
}

#[test]
fn json_has_values_in_force_with_their_types() {
    let text = "hardCap: 6000\nsnapshotTtl: 5m\nendpoints:\n  list_*:\n    pageSize: 20\nupstreams:\n  desk:\n    \
                url: http://127.0.0.1:1/mcp\n    headers: {X-Key: '${KEY}'}\n    endpoints:\n      get_*: {rows: auto}\n";
    let sources = with_variables(yaml(text), &[("KEY", "s3cret")]);
    let config = loaded(&with_options(sources, &[("lean", "")]));
    let shown = show_json(&config, false, None);
    assert_eq!(shown["hardCap"], 6000);
    assert_eq!(shown["replyTarget"], 1200);
    assert_eq!(shown["warnAt"], 0.8);
    assert_eq!(shown["pagination"], true);
    assert_eq!(shown["snapshotTtl"], "5m");
    assert_eq!(shown["endpoints"], json!({ "list_*": { "pageSize": 20 } }));
    assert_eq!(shown["upstreams"]["desk"]["headers"], json!({ "X-Key": "(set)" }));
    assert_eq!(shown["upstreams"]["desk"]["endpoints"], json!({ "get_*": { "rows": "auto" } }));
    assert!(!shown.to_string().contains("s3cret"), "{shown}");
    let shown = show_json(&config, true, tool("list_x"));
    assert_eq!(shown["defaultPageSize"], json!({ "value": 20, "origin": "portion.yaml:5:5" }));
    assert_eq!(shown["replyTarget"], json!({ "value": 1200, "origin": "profile lean" }));
    assert!(shown.get("endpoints").is_none(), "{shown}");
}
