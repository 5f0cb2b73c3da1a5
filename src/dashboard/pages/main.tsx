import '@fontsource-variable/inter/wght.css'
import './design/tokens.css'
import './design/base.css'
import './design/shared-page.css'
import { render } from 'preact'
import { App } from './app.tsx'
import { LANGUAGE } from './texts/language.ts'

document.documentElement.lang = LANGUAGE
render(<App />, document.getElementById('page')!)
