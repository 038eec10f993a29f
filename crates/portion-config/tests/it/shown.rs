//! Tests the output of `config show`.

use portion_config::show;

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
