//! Selects the tokenizer for a model by its name.

use portion_tokens::Tokenizer;

/// Returns the tokenizer of a model's family: `claude-…`, `gpt-4`, `openai/gpt-4o`, `us.anthropic.claude-…`.
pub(super) fn tokenizer_for_model(model: &str) -> Option<Tokenizer> {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    let is = |known: &[&str]| known.iter().any(|known| name.starts_with(known));
    if name.contains("claude") {
        Some(Tokenizer::Claude)
    } else if is(&["gpt-4o", "gpt-4.", "chatgpt-4o", "gpt-5", "gpt-6", "gpt-oss", "o1", "o3", "o4", "codex"])
    {
        Some(Tokenizer::O200k)
    } else if is(&["gpt-4", "gpt-3.5", "gpt-35"]) {
        Some(Tokenizer::Cl100k)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use portion_tokens::Tokenizer::{self, Cl100k, Claude, O200k};

    use super::tokenizer_for_model;

    fn check(models: &[&str], expect: Option<Tokenizer>) {
        for model in models {
            assert_eq!(tokenizer_for_model(model), expect, "{model}");
        }
    }

    #[test]
    fn families_are_told_by_names() {
        check(
            &["claude-opus-4-1", "anthropic/claude-3.5-sonnet", "us.anthropic.claude-sonnet-4-v1:0"],
            Some(Claude),
        );
        check(
            &["gpt-4o-mini", "gpt-4.1", "o1", "o3-mini", "gpt-5", "openai/gpt-oss-120b", "chatgpt-4o-latest"],
            Some(O200k),
        );
        check(&["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "GPT-4-0613"], Some(Cl100k));
        check(&["", "llama-3", "mistral-large", "omni"], None);
    }
}
