//! The path of this program, as it is written to configurations.

use std::path::{Path, PathBuf};

use portion_install::invocation::is_portion;

/// Returns the absolute path of this program. If a directory of `PATH` leads to it, that path is used: package managers
/// keep it over an update, while the file itself moves.
pub(super) fn own_path() -> Result<String, String> {
    let file = std::env::current_exe().map_err(|error| format!("the path of portion is unknown: {error}"))?;
    if let Some(advice) = cache_advice(&file) {
        return Err(format!("{} is in a cache that is emptied from time to time: {advice}", file.display()));
    }
    let path = on_search_path(&file).unwrap_or(file);
    let name = path.display().to_string();
    let path = path.into_os_string().into_string().map_err(|_| {
        format!("{name} is not Unicode, so that no configuration can contain it: move portion to another directory")
    })?;
    if is_portion(&path) {
        Ok(path)
    } else {
        Err(format!("uninstall would not recognise {name}: name the program portion"))
    }
}

fn on_search_path(file: &Path) -> Option<PathBuf> {
    let own = file.canonicalize().ok()?;
    let name = file.file_name()?;
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.canonicalize().is_ok_and(|found| found == own))
}

/// Returns how to install the program to stay, if it runs from the cache of `npx` or `uvx`.
fn cache_advice(file: &Path) -> Option<&'static str> {
    let names: Vec<_> = file.iter().filter_map(|name| name.to_str()).collect();
    let has = |name: &str| names.contains(&name);
    if has("_npx") {
        Some("npm install -g portion-mcp, then portion install")
    } else if has("uv") && names.iter().any(|name| name.starts_with("archive-v")) {
        Some("uv tool install portion-mcp, then portion install")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_recognised() {
        let check = |path: &str, expect: Option<&str>| {
            let advice = cache_advice(Path::new(path)).and_then(|advice| advice.split(' ').next());
            assert_eq!(advice, expect, "{path}");
        };
        check("/home/me/.cargo/bin/portion", None);
        check("/usr/lib/node_modules/portion-mcp/node_modules/portion-mcp-linux-x64/bin/portion", None);
        check("/home/me/.local/share/uv/tools/portion-mcp/bin/portion", None);
        check("/home/me/.npm/_npx/0a1b/node_modules/portion-mcp-linux-x64/bin/portion", Some("npm"));
        check("/home/me/.cache/uv/archive-v0/x1y2/bin/portion", Some("uv"));
    }
}
