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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explicit_path_wins() {
        let path: syn::Path = syn::parse_quote!(::facade::hpd_agent);
        assert_eq!(crate_path(Some(&path)).unwrap().to_string(), ":: facade :: hpd_agent");
    }
}
