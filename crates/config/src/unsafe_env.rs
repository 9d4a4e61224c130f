//! Variables that make a child process run something else than its command says.
//!
//! A configuration is often pasted from elsewhere. One line of it must not be able to send `npx` or `uvx` to another
//! registry, or to load a library into every server. Variables that only say where a program keeps its own files
//! (`PATH`, `PYTHONPATH`, `NODE_PATH`, proxies, certificates) are everyday and stay allowed.

use gateway_notation::pattern::matches;

/// Beginnings and whole names, in upper case, and what such a variable does.
const REFUSED: &[(&str, &str)] = &[
    ("NPM_CONFIG_*", PACKAGES),
    ("PNPM_CONFIG_*", PACKAGES),
    ("YARN_REGISTRY", PACKAGES),
    ("YARN_NPM_*", PACKAGES),
    ("YARN_RC_FILENAME", PACKAGES),
    ("BUN_CONFIG_*", PACKAGES),
    ("JSR_URL", PACKAGES),
    ("UV_*", PACKAGES),
    ("PIP_*", PACKAGES),
    ("PIPX_DEFAULT_PYTHON", PACKAGES),
    ("CARGO_REGISTRIES_*", PACKAGES),
    ("CARGO_SOURCE_*", PACKAGES),
    ("GOPROXY", PACKAGES),
    ("GONOSUMDB", PACKAGES),
    ("GONOSUMCHECK", PACKAGES),
    ("GOSUMDB", PACKAGES),
    ("GOFLAGS", PACKAGES),
    ("BUNDLE_MIRROR*", PACKAGES),
    ("NUGET_*", PACKAGES),
    ("LD_PRELOAD", LIBRARIES),
    ("LD_LIBRARY_PATH", LIBRARIES),
    ("LD_AUDIT", LIBRARIES),
    ("DYLD_*", LIBRARIES),
    ("NODE_OPTIONS", CODE),
    ("BUN_OPTIONS", CODE),
    ("PYTHONSTARTUP", CODE),
    ("PYTHONHOME", CODE),
    ("PYTHONINSPECT", CODE),
    ("PERL5OPT", CODE),
    ("PERL5DB", CODE),
    ("RUBYOPT", CODE),
    ("JAVA_TOOL_OPTIONS", CODE),
    ("JDK_JAVA_OPTIONS", CODE),
    ("_JAVA_OPTIONS", CODE),
    ("BASH_ENV", CODE),
    ("ENV", CODE),
    ("DOTNET_STARTUP_HOOKS", CODE),
];

const PACKAGES: &str = "it can redirect a package manager";
const LIBRARIES: &str = "it can load a library into the server";
const CODE: &str = "it can make the server run other code";

/// Why a variable is refused, if it is. Programs read some of these names in any case, so all are compared like that.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    REFUSED.iter().find(|(pattern, _)| matches(pattern, &upper)).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirecting_variables_are_refused_in_any_case() {
        let refused_names = [
            "NPM_CONFIG_REGISTRY",
            "npm_config_registry",
            "Npm_Config_Userconfig",
            "UV_INDEX_URL",
            "UV_DEFAULT_INDEX",
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "BASH_ENV",
            "GOPROXY",
        ];
        for name in refused_names {
            assert!(refused(name).is_some(), "{name}");
        }
        let allowed = [
            "PATH",
            "HOME",
            "API_KEY",
            "PYTHONPATH",
            "NODE_PATH",
            "HTTPS_PROXY",
            "NODE_ENV",
            "UVICORN_PORT",
            "ENVIRONMENT",
        ];
        for name in allowed {
            assert_eq!(refused(name), None, "{name}");
        }
    }
}
