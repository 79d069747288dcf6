"""The text that the embedded model is trained on: stories, answers, and chats."""

from tiny_llm_lab.corpus.documents import Corpus, Document

__all__ = ["Corpus", "Document"]
