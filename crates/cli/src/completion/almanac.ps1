Register-ArgumentCompleter -Native -CommandName almanac -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # The words up to the cursor, as arguments: none of what is typed is run.
    $words = @(foreach ($element in $commandAst.CommandElements) {
        $extent = $element.Extent
        if ($extent.StartOffset -ge $cursorPosition) { continue }
        if ($extent.EndOffset -gt $cursorPosition) {
            $extent.Text.Substring(0, $cursorPosition - $extent.StartOffset)
        } elseif ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) {
            # Without its quotes.
            $element.Value
        } else {
            $extent.Text
        }
    })
    if ($wordToComplete -eq '') {
        # Before 7.3, PowerShell leaves out an argument that is empty.
        $words += if ($PSVersionTable.PSVersion -lt '7.3') { '""' } else { '' }
    }

    $previous = $env:ALMANAC_COMPLETE
    $env:ALMANAC_COMPLETE = "powershell"
    try {
        $offered = @(& almanac -- $words)
    } finally {
        $env:ALMANAC_COMPLETE = $previous
    }
    foreach ($line in $offered) {
        $value, $help = $line -split "`t", 2
        if (-not $help) { $help = $value }
        $shown = $value
        # What means something to PowerShell is offered in quotes.
        if ($value -match '[^\w%+=:./\\~-]') { $value = "'" + $value.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($value, $shown, 'ParameterValue', $help)
    }
}
