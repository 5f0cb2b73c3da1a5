import './styles/base.css'
import './styles/layout.css'
import './styles/components.css'
import './styles/companies.css'
import './styles/settings.css'
import './styles/sources.css'
import './styles/lookup.css'
import './styles/live.css'
import './styles/system.css'
import './styles/uploads.css'
import { render } from 'preact'
import { App } from './app.tsx'

render(<App />, document.getElementById('page')!)
