"""Names that are easily misinterpreted in transit."""

NAMES = (
    "victim/secrets/s1", "a/hold", "/a", "a/", "a//b", "/", "..", ".", "../victim", "a/../b", "...", "%", "%2F",
    "a%2Fb", "100%", "a b", " a ", "a+b", "?", "a?b=c&d=e", "#a", "a;b", "a:b", "a=b", "a,b", "a\\b", "'a'", '"<b>"',
    "{client}", "~", "-", "--all", "$(a)", "käse", "ka\u0308se", "日本", "🙂", "\u05e9\u05dc\u05d5\u05dd", "null",
    "true", "0", "hold", "secrets", "signing-secret",
)  # fmt: skip
