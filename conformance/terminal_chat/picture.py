"""A screen of tmux as an SVG picture: the same screen gives the same bytes, and letters stand in columns whatever the font."""

import html
import re

COLUMN, ROW, SIZE, MARGIN, BAR = 8.4, 19, 14, 16, 34
BACK, PLAIN, FAINT = "#1b1f27", "#d6dae2", "#8b93a3"
COLOURS = {31: "#f0717b", 32: "#8bd49c", 33: "#e9c46a", 34: "#7aa8f0", 35: "#c39af0", 36: "#6fcfd6"}
CODE = re.compile(r"\x1b\[([0-9;]*)m|\x1b[()][A-Z0-9]|[\x0e\x0f]")


def cells(text):
    """The lines of a screen, each letter with its style: colour, bold, faint. A style goes on until another one begins."""
    found, style = [], (None, False, False)
    for line in text.split("\n"):
        letters, style = styled(line, style)
        found.append(letters)
    return found


def styled(line, style):
    """The letters of a line, and the style behind it."""
    found, at = [], 0
    while at < len(line):
        if code := CODE.match(line, at):
            for number in (int(word or 0) for word in (code[1] or "0").split(";")) if code[1] is not None else ():
                colour, bold, faint = style
                style = {
                    0: (None, False, False),
                    1: (colour, True, faint),
                    2: (colour, bold, True),
                    22: (colour, False, False),
                    39: (None, bold, faint),
                }.get(number, (COLOURS.get(number, colour), bold, faint))
            at = code.end()
        else:
            found.append((line[at], style))
            at += 1
    while found and found[-1][0] == " ":
        found.pop()
    return found, style


def runs(line):
    """Letters of one style that stand together: where they begin, the text, the style."""
    found = []
    for column, (letter, style) in enumerate(line):
        if found and found[-1][2] == style:
            found[-1][1].append(letter)
        else:
            found.append((column, [letter], style))
    return [(column, "".join(letters), style) for column, letters, style in found]


def svg(lines, columns, title):
    """The picture of lines of cells."""
    width, height = columns * COLUMN + 2 * MARGIN, len(lines) * ROW + BAR + MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="9" fill="{BACK}"/>',
        *(f'<circle cx="{MARGIN + 4 + 20 * index}" cy="17" r="6" fill="{fill}"/>' for index, fill in enumerate(["#f0717b", "#e9c46a", "#8bd49c"])),
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{SIZE}" xml:space="preserve">',
    ]
    for row, line in enumerate(lines):
        for column, text, (colour, bold, faint) in runs(line):
            if not text.strip():
                continue
            x, y = MARGIN + column * COLUMN, BAR + row * ROW + SIZE
            fill = colour or (FAINT if faint else PLAIN)
            weight = ' font-weight="bold"' if bold else ""
            length = f'{len(text) * COLUMN:.1f}'
            out.append(f'<text x="{x:.1f}" y="{y}" fill="{fill}"{weight} textLength="{length}" lengthAdjust="spacingAndGlyphs">{html.escape(text, quote=False)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])
