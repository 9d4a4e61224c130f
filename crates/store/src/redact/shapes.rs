//! Secrets recognised by their shape alone: tokens with a known prefix, private keys, webhook URLs.

use std::{ops::Range, sync::LazyLock};

use regex::Captures;

use super::{
    expressions::{Finder, Judge, compile},
    value::is_random,
};
use crate::word_list::words;

/// Prefixes of tokens that are recognised anywhere in a string.
pub(super) const TOKEN_PREFIXES: &[&str] = words!(
    "sk- sk_live_ sk_test_ rk_live_ rk_test_ whsec_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- \
     glcbt- glptt- gloas- glsoat- xoxb- xoxp- xoxa- xoxe- xoxe. xoxr- xoxs- xoxc- xoxd- xapp- AKIA ASIA \
     AIza ya29. GOCSPX- SG. dop_v1_ doo_v1_ dor_v1_ npm_ pypi- hf_ shpat_ shpss_ shppa_ shpca_ sq0atp- \
     sq0csp- lin_api_ secret_ ntn_ r8_ gsk_ pplx- xai- tvly- nvapi- AGE-SECRET-KEY-1 dckr_pat_ dp.pt. \
     dp.st. dt0c01. figd_ fo1_ fm2_ rubygems_ sntrys_ sntryu_ sbp_ sb_secret_ nfp_ NRAK- PMAK- phx_ hvs. \
     hvb. ATATT3x ATCTT3x CCIPAT_ glc_ glsa_ ops_ LTAI AKID rzp_live_ rzp_test_ EAAC dapi eyJ \
     b3BlbnNzaC1rZXktdjE key- amzn.mws. tskey- v1.0- sess- waka_ cfut_ oy2 AAAAAAAAAAAAAAAAAAAAA EAAA sl. \
     pcsk_ lsv2_pt_ lsv2_sk_ pul- pscale_tkn_ pscale_pw_ pscale_oauth_ CFPAT- sgp_ squ_ sqp_ sqa_ bkua_ \
     xkeysib- xsmtpsib- pat-na1- pat-na2- pat-eu1- glagent- glimt- glft- glffct- GR1348941 ATBB ATTA BBDC- \
     lin_oauth_ figu_ rnd_ rpa_ jina_ tgp_v1_ e2b_ fc- ls__ AVNS_ mdb_sa_sk_ napi_ HRKU- NRII- NRJS- NRSP- \
     access-production- access-sandbox- access_token$production$ tfp_ dp.ct. dp.sa. dp.scim. dp.audit. hvr. \
     AKCp dckr_oat_ duffel_live_ duffel_test_ EZAK EZTK rdme_ pnu_ shippo_live_ FLWSECK shpua_ sk_sbox_"
);

/// Prefixes that are also words: the rest must look random.
pub(super) const AMBIGUOUS: &[&str] = &[
    "secret_", "key-", "dapi", "ops_", "sess-", "oy2", "AKID", "LTAI", "EAAC", "sk-", "v1.0-", "npm_",
    "pypi-", "hf_", "SG.", "xai-", "fo1_", "r8_", "phx_", "EAAA", "sl.", "pul-", "sgp_", "squ_", "sqp_",
    "sqa_", "rnd_", "rpa_", "jina_", "e2b_", "fc-", "ls__", "napi_", "tfp_", "pnu_", "ATBB", "ATTA", "AKCp",
    "EZAK", "EZTK",
];

pub(super) static FINDERS: LazyLock<Vec<Finder>> = LazyLock::new(|| compile(table()));

pub(super) fn table() -> Vec<(String, Judge)> {
    vec![
        // The body of a private key, also with `\n` instead of line ends, also truncated.
        (r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----((?s:.*?))(?:-----END|\z)".to_owned(), body),
        (r"(?i)private-lines: *\d+((?:\s+[A-Za-z0-9+/=]{16,})+)".to_owned(), body),
        // A private key in base64; certificates and public keys begin differently.
        (r"LS0tLS1CRUdJTi(B(?:[^DQ]|D[^R]|Q[^V])[A-Za-z0-9+/=]{16,})".to_owned(), body),
        (r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{8,})".to_owned(), body),
        (r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/([A-Za-z0-9_-]{8,})".to_owned(), body),
        (r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{8,})".to_owned(), body),
        (r"hooks\.zapier\.com/hooks/catch/([A-Za-z0-9/_-]{6,})".to_owned(), body),
        (r"\b(1//0[A-Za-z0-9_-]{16,})".to_owned(), body),
        (r"(?:\b|/bot)\d{7,12}:(AA[A-Za-z0-9_-]{24,})".to_owned(), body),
        (r"\b([MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})".to_owned(), body),
        (r"\b([0-9a-f]{32}-us\d{1,2})\b".to_owned(), body),
        (r"\b(SK[0-9a-f]{32})\b".to_owned(), body),
        (r"\b(pat[A-Za-z0-9]{14}\.[0-9a-f]{32,})".to_owned(), body),
        (r"(\$(?:2[abxy]|1|5|6|y|apr1|argon2(?:id|i|d))\$[A-Za-z0-9./=,$+-]{16,})".to_owned(), body),
        // Terraform Cloud, and client secrets of Azure AD.
        (r"\b([A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_-]{40,})".to_owned(), body),
        (r"(?:^|[^A-Za-z0-9_.~-])([A-Za-z0-9_.~-]{3}[78]Q~[A-Za-z0-9_.~-]{28,40})".to_owned(), body),
        // The QR code for joining a Wi-Fi network.
        (r"WIFI:[^\n]*?\bP:((?:\\.|[^;\\\n])+)".to_owned(), body),
        (r"(?i)jdbc:oracle:\w+:[^/\s:@]+/([^@\s]+)@".to_owned(), body),
        (r#"(?i)identified by ["']([^"']+)["']"#.to_owned(), body),
    ]
}

/// The first group.
fn body(found: &Captures<'_>, _: &str) -> Option<Range<usize>> {
    found.get(1).map(|body| body.range())
}

/// Whether the rest after a known prefix looks like a token.
pub(super) fn is_token(prefix: &str, rest: &str) -> bool {
    !AMBIGUOUS.contains(&prefix) || is_random(rest) || has_digits(rest)
}

fn has_digits(rest: &str) -> bool {
    rest.bytes().filter(u8::is_ascii_digit).count() >= 2
        && rest.split(['-', '_', '.']).any(|piece| piece.len() >= 8)
}
