import '@fontsource-variable/inter/wght.css'
import './design/tokens.css'
import './design/base.css'
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('page')!)
