//! The one place that knows under which name the runtime crate can be reached.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::problem::Problem;

/// The path of the runtime crate: what the attribute says, or what the manifest of the package says.
pub(crate) fn crate_path(explicit: Option<&syn::Path>) -> Result<TokenStream, syn::Error> {
    if let Some(path) = explicit {
        return Ok(path.to_token_stream());
    }
    if own_manifest().is_some_and(|manifest| is_named_plainly(&manifest)) {
        return Ok(quote!(::hpd_agent));
    }
    match crate_name("hpd-agent") {
        Ok(FoundCrate::Name(name)) => {
            let name = Ident::new(&name, Span::call_site());
            Ok(quote!(::#name))
        }
        // Examples, tests and doc tests of the crate itself know it by its name; so does the crate, by an alias.
        Ok(FoundCrate::Itself) => Ok(quote!(::hpd_agent)),
        Err(proc_macro_crate::Error::CrateNotFound { .. }) => Err(Problem::CrateNotFound.at(Span::call_site())),
        // No manifest, for example under another build system.
        Err(_) => Ok(quote!(::hpd_agent)),
    }
}

fn own_manifest() -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    std::fs::read_to_string(std::path::Path::new(&folder).join("Cargo.toml")).ok()
}

/// Whether a manifest has the runtime crate among its dependencies by its own name, as most have. To find out about
/// any other one, `proc-macro-crate` starts `cargo`, which takes as long as the expansion of some forty tools.
fn is_named_plainly(manifest: &str) -> bool {
    let mut is_among_dependencies = false;
    manifest.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            is_among_dependencies = line.ends_with("dependencies]") && !line.starts_with("[workspace");
        }
        let value = line.strip_prefix("hpd-agent").map(str::trim_start);
        is_among_dependencies && value.is_some_and(|value| value.starts_with(['=', '.'])) && !line.contains("package")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_path_wins() {
        let path: syn::Path = syn::parse_quote!(::facade::hpd_agent);
        assert_eq!(crate_path(Some(&path)).unwrap().to_string(), ":: facade :: hpd_agent");
    }

    #[test]
    fn only_a_plain_dependency_needs_no_question() {
        for (manifest, plain) in [
            ("[dependencies]\nhpd-agent = \"1\"", true),
            ("[dependencies]\nserde = \"1\"\n  hpd-agent = { version = \"1\", features = [\"genai\"] }", true),
            ("[target.'cfg(unix)'.dev-dependencies]\nhpd-agent.workspace = true", true),
            ("[dependencies]\nagents = { package = \"hpd-agent\", version = \"1\" }", false),
            ("[dependencies]\nhpd-agent = { package = \"other\" }", false),
            ("[dependencies]\nagents.workspace = true\n[workspace.dependencies]\nhpd-agent = \"1\"", false),
            ("[patch.crates-io]\nhpd-agent = { path = \"x\" }", false),
            ("[features]\nhpd-agent = [\"dep:agents\"]", false),
            ("[dependencies]\nhpd-agent-extra = \"1\"", false),
            ("[package]\nname = \"hpd-agent\"", false),
            ("", false),
        ] {
            assert_eq!(is_named_plainly(manifest), plain, "{manifest}");
        }
    }
}
