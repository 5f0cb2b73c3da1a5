import './design/tokens.css'
import './design/base.css'
import './styles/base.css'
import './styles/components.css'
import './styles/companies.css'
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('page')!)
